// Numbers, latencies, sizes and times as people read them. Not by Intl: QuickJS has none, and a report should not depend on its reader's language.

/** What a value is counted in, as far as it decides how it is written. */
type Family = { kind: "time"; us: number } | { kind: "bytes"; suffix: string } | { kind: "plain" };

/** Units of time in microseconds. */
const TIMES: Readonly<Record<string, number>> = { ns: 1e-3, "µs": 1, us: 1, ms: 1e3, s: 1e6 };
/** As PostgreSQL counts: by 1,024. */
const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];

function family(unit: string): Family {
  const us = TIMES[unit];
  if (us !== undefined) return { kind: "time", us };
  const bytes = /^(?:bytes?|B)(\/.+)?$/.exec(unit);
  return bytes ? { kind: "bytes", suffix: bytes[1] ?? "" } : { kind: "plain" };
}

/** Whether the unit stands beside every number of an axis, and therefore need not be in its heading. */
export function carriesUnit(unit: string): boolean {
  return family(unit).kind !== "plain";
}

/** A number with thousands separated, with as many digits as it has. */
export function grouped(value: number): string {
  const [whole = "0", fraction] = String(Math.abs(value)).split(".");
  if (whole.includes("e")) return String(value);
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (value < 0 ? "-" : "") + separated + (fraction === undefined ? "" : `.${fraction}`);
}

/** A number with four digits, or all before the decimal point. */
export function number(value: number): string {
  return Number.isFinite(value) ? grouped(rounded(value)) : "–";
}

/** Of two that are equally near the even one, as in the tables and sentences beside a chart. */
function rounded(value: number): number {
  if (Math.abs(value) >= 1000) {
    const whole = Math.round(value);
    return Math.abs(value % 1) === 0.5 && whole % 2 !== 0 ? whole - 1 : whole;
  }
  // All digits that the number has, of which the fifth and the last is a 5.
  const [digits = "", exponent = ""] = value.toExponential(40).split("e");
  const even = /^(-?\d\.\d\d[02468])50*$/.exec(digits);
  return even ? Number(`${even[1]}e${exponent}`) : Number(value.toPrecision(4));
}

/** A value with its unit; latencies, which come in µs or ms, in milliseconds whatever their size. */
export function quantity(value: number, unit: string): string {
  const of = family(unit);
  if (of.kind === "time") return unit === "s" ? duration(value * of.us) : `${number((value * of.us) / 1e3)} ms`;
  if (of.kind === "bytes") return size(value) + of.suffix;
  return unit === "" ? number(value) : `${number(value)} ${unit}`;
}

function duration(us: number): string {
  const length = Math.abs(us);
  if (length >= 1e6) return `${number(us / 1e6)} s`;
  if (length >= 1e3) return `${number(us / 1e3)} ms`;
  return length > 0 && length < 1 ? `${number(us * 1e3)} ns` : `${number(us)} µs`;
}

function size(bytes: number): string {
  let power = 0;
  while (power + 1 < SIZES.length && Math.abs(bytes) >= 1024 ** (power + 1)) power++;
  return `${number(bytes / 1024 ** power)} ${SIZES[power]}`;
}

/** Seconds since the load began, as h:mm:ss. */
export function clock(seconds: number): string {
  const tenths = Math.round(Math.abs(seconds) * 10);
  const two = (value: number) => String(value).padStart(2, "0");
  const whole = Math.floor(tenths / 10);
  const text = `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return (seconds < 0 && tenths > 0 ? "-" : "") + text + (tenths % 10 === 0 ? "" : `.${tenths % 10}`);
}

/** What is written at a tick of an axis that reaches up to `most`: in millions either everywhere or nowhere. */
export function tickLabel(value: number, unit: string, most = value): string {
  if (value === 0) return "0";
  if (carriesUnit(unit)) return quantity(value, unit);
  return Math.abs(most) >= 1e6 ? `${number(value / 1e6)}M` : number(value);
}

/** The ends of an axis, and where it has ticks. */
export interface Scale {
  min: number;
  max: number;
  ticks: number[];
}

/** An axis from zero, or from below it, that holds all values. */
export function linearScale(values: Iterable<number>, unit: string, count: number): Scale {
  let [low, high] = [0, 0];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  // Shares of time are measured a little off; more than all of it is no place of its own.
  if (unit === "%" && high > 100 && high <= 102) high = 100;
  // Where nothing happened there is nothing to divide.
  if (low === high) return unit === "%" ? linearScale([100], unit, count) : { min: 0, max: 1, ticks: [0, 1] };
  const step = niceStep((high - low) / count, family(unit));
  const min = Math.floor(low / step) * step;
  const max = Math.ceil(high / step) * step;
  const ticks: number[] = [];
  for (let tick = 0; tick <= Math.round((max - min) / step); tick++) ticks.push(tidy(min + tick * step));
  return { min: tidy(min), max: tidy(max), ticks };
}

/** A logarithmic axis that holds all values above zero. */
export function logScale(values: Iterable<number>, unit: string, count: number): Scale {
  let [low, high] = [Infinity, 0];
  for (const value of values) {
    if (value > 0) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (high === 0) [low, high] = [1, 10];
  const steps = family(unit).kind === "bytes" ? powersOfFour : oneTwoFive;
  const min = last(steps(low / 10, low), low);
  const max = steps(high, high * 10).find((step) => step >= high * (1 - 1e-9)) ?? high * 10;
  if (min === max) return logScale([min / 2, max * 2], unit, count);
  let ticks = steps(min, max);
  const powers = ticks.filter((tick) => isPower(tick, family(unit).kind === "bytes" ? 16 : 10));
  // A little over one decade has only two powers of ten, which say less than a tick or two too many.
  const most = powers.length < 3 ? count + 2 : count;
  if (ticks.length > most) ticks = powers;
  while (ticks.length > most) ticks = ticks.filter((_, index) => index % 2 === 0);
  return { min, max, ticks };
}

function niceStep(rough: number, of: Family): number {
  if (of.kind === "bytes" && rough >= 1) {
    const power = Math.floor(Math.log2(rough) / 10);
    const inUnit = rough / 1024 ** power;
    return [1, 2, 5, 10, 20, 50, 100, 200, 256, 512, 1024].find((step) => step >= inUnit * (1 - 1e-9))! * 1024 ** power;
  }
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10;
  return step * power;
}

function oneTwoFive(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of [1, 2, 5]) ticks.push(tidy(factor * 10 ** power));
  }
  return within(ticks, low, high);
}

function powersOfFour(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log2(low) / 2) - 1; power <= Math.ceil(Math.log2(high) / 2) + 1; power++) ticks.push(4 ** power);
  return within(ticks, low, high);
}

function within(ticks: number[], low: number, high: number): number[] {
  return ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
}

function isPower(value: number, base: number): boolean {
  const power = Math.log(value) / Math.log(base);
  return Math.abs(power - Math.round(power)) < 1e-9;
}

function last(values: number[], otherwise: number): number {
  return values[values.length - 1] ?? otherwise;
}

/** Without the last digits that binary fractions add. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}
