/** Dates as Python's `strftime` writes them in the C locale. */
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'].concat(
  ['October', 'November', 'December'],
);
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const two = (value: number): string => String(value).padStart(2, '0');

function dayOfYear(date: Date): number {
  const day = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (day - Date.UTC(date.getFullYear(), 0, 0)) / 86_400_000;
}

const directives: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => weekdays[date.getDay()]!.slice(0, 3),
  A: (date) => weekdays[date.getDay()]!,
  b: (date) => months[date.getMonth()]!.slice(0, 3),
  B: (date) => months[date.getMonth()]!,
  d: (date) => two(date.getDate()),
  '-d': (date) => String(date.getDate()),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  j: (date) => String(dayOfYear(date)).padStart(3, '0'),
  m: (date) => two(date.getMonth() + 1),
  '-m': (date) => String(date.getMonth() + 1),
  M: (date) => two(date.getMinutes()),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  S: (date) => two(date.getSeconds()),
  y: (date) => two(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  F: (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
  T: (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
  '%': () => '%',
};

/** Formats a date in local time. @throws Error for a directive that is not known. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?.)/g, (_, directive: string) => {
    const write = directives[directive];
    if (write === undefined) throw new Error(`strftime_now does not know %${directive}`);
    return write(date);
  });
}
