// Folded parts of a page: opened for paper, and for whoever follows a link into them.

export function openFolded(): void {
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener(
    "beforeprint",
    () => {
      opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
      for (const details of opened) details.open = true;
    },
    { capture: true },
  );
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened = [];
  });
  window.addEventListener("hashchange", openTarget);
  openTarget();
}

/** Opens what the target of the address is in. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  let folded = target.closest("details");
  if (folded === null) return;
  while (folded) {
    folded.open = true;
    folded = folded.parentElement?.closest("details") ?? null;
  }
  target.scrollIntoView();
}
