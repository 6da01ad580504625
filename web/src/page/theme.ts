// Light or dark: as the system has it, unless the reader chose.

export type Choice = "auto" | "light" | "dark";

const KEY = "dyno-theme";
const CHOICES: readonly Choice[] = ["auto", "light", "dark"];
const listeners = new Set<() => void>();
const dark = typeof window === "undefined" ? undefined : window.matchMedia("(prefers-color-scheme: dark)");
dark?.addEventListener("change", () => tell());

/** The theme that the page has now. */
export function currentTheme(): "light" | "dark" {
  const choice = chosen();
  return choice === "auto" ? (dark?.matches ? "dark" : "light") : choice;
}

/** Calls a function whenever the theme changes, until the function that is returned is called. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Makes a button go through the choices. */
export function themeButton(button: HTMLButtonElement): void {
  const label = () => {
    button.textContent = `Theme: ${chosen()}`;
  };
  choose(remembered());
  label();
  button.addEventListener("click", () => {
    choose(CHOICES[(CHOICES.indexOf(chosen()) + 1) % CHOICES.length] ?? "auto");
    label();
  });
}

function chosen(): Choice {
  const theme = document.documentElement.dataset["theme"];
  return theme === "light" || theme === "dark" ? theme : "auto";
}

function choose(choice: Choice): void {
  if (choice === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = choice;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // A page without storage, such as a file in some browsers, forgets the choice.
  }
  tell();
}

function remembered(): Choice {
  try {
    return CHOICES.find((choice) => choice === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

function tell(): void {
  for (const listener of listeners) listener();
}
