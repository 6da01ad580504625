// Files that a page makes itself.

/** Offers a text as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Not at once: the browser may still have to begin reading.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
