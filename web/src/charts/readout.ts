// What is told of a place in a figure. Always as text: names of scripts and messages of servers may hold anything.

/** A line of it; without a value it is a heading. */
export interface Line {
  name: string;
  value?: string;
  color?: string;
}

/** The place, and what is there. */
export interface Told {
  heading: string;
  lines: Line[];
}

/** What ECharts tells of what is pointed at. */
export interface Pointed {
  /** The value on the axis, on axes with numbers. */
  axisValue?: number | string;
  seriesIndex: number;
  dataIndex: number;
}

export type Readout = (pointed: Pointed) => Told | undefined;

/** As elements of a page. */
export function toElement(told: Told): HTMLElement {
  const box = document.createElement("div");
  box.className = "readout";
  const heading = box.appendChild(document.createElement("strong"));
  heading.textContent = told.heading;
  const table = box.appendChild(document.createElement("table"));
  for (const line of told.lines) {
    const row = table.insertRow();
    const name = row.insertCell();
    if (line.color !== undefined) {
      const key = name.appendChild(document.createElement("span"));
      key.className = "key";
      key.style.background = line.color;
    }
    name.append(line.name);
    if (line.value === undefined) {
      name.colSpan = 2;
      row.className = "heading";
    } else {
      row.insertCell().textContent = line.value;
    }
  }
  return box;
}
