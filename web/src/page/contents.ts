// The table of contents: marks the chapter that is read, and keeps its link in view.

export function markRead(): void {
  const links = new Map<Element, HTMLAnchorElement>();
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav.toc a")) {
    const chapter = document.getElementById(link.hash.slice(1));
    if (chapter !== null) links.set(chapter, link);
  }
  const inSight = new Set<Element>();
  const mark = () => {
    const chapters = [...links.keys()];
    const read = chapters.find((chapter) => inSight.has(chapter)) ?? chapters.slice(0, 1).find(isAhead);
    if (read === undefined) return;
    for (const [chapter, link] of links) {
      if (chapter !== read) link.removeAttribute("aria-current");
      else if (link.getAttribute("aria-current") === null) {
        link.setAttribute("aria-current", "true");
        keepInView(link);
      }
    }
  };
  // What reaches into the upper third of the window is read.
  const sight = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) inSight.add(target);
        else inSight.delete(target);
      }
      mark();
    },
    { rootMargin: "-48px 0px -66% 0px" },
  );
  for (const chapter of links.keys()) sight.observe(chapter);
  // Back at the begin of the page nothing else may come into sight.
  const head = document.querySelector("header.report");
  if (head !== null) sight.observe(head);
}

/** Whether a chapter is still to come: at the begin of a page none is in sight, and the first one is next. */
function isAhead(chapter: Element): boolean {
  return chapter.getBoundingClientRect().top > 0;
}

/** Scrolls the contents alone: scrolling the page would take it away from its reader. */
function keepInView(link: HTMLElement): void {
  const contents = link.closest<HTMLElement>("nav.toc");
  if (contents === null) return;
  const [inside, around] = [link.getBoundingClientRect(), contents.getBoundingClientRect()];
  if (inside.left < around.left || inside.right > around.right) contents.scrollLeft += inside.left - around.left - 16;
  if (inside.top < around.top || inside.bottom > around.bottom) contents.scrollTop += inside.top - around.top - 16;
}
