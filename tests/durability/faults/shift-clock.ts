/** Moves the clock that the JavaScript of this process reads; that of the SDK's native part stays as it is. */
const OwnDate = Date;
let shiftMs = 0;

class ShiftedDate extends OwnDate {
  constructor(...args: [] | ConstructorParameters<typeof Date>) {
    if (args.length === 0) super(OwnDate.now() + shiftMs);
    else super(...args);
  }

  static override now(): number {
    return OwnDate.now() + shiftMs;
  }
}

/** From now on `Date` is that many hours ahead of the host's clock; negative: behind. */
export function shiftClock(hours: number): void {
  shiftMs = hours * 3_600_000;
  globalThis.Date = ShiftedDate as DateConstructor;
}
