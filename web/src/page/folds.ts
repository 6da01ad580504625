// Folded parts of a page: opened for paper, and for whoever follows a link into them. Tables behind charts are not for paper.

export function openFolded(): void {
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener(
    "beforeprint",
    () => {
      opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open], figure > *)")];
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

/** The name that the address ends with; as it stands there if it is no proper one. */
function targetName(): string {
  const name = location.hash.slice(1);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Opens what the target of the address is in. */
function openTarget(): void {
  const target = document.getElementById(targetName());
  if (target === null) return;
  let folded = target.closest("details");
  if (folded === null) return;
  while (folded) {
    folded.open = true;
    folded = folded.parentElement?.closest("details") ?? null;
  }
  target.scrollIntoView();
}
