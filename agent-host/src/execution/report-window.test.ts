import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ReportWindows } from "./report-window.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

function opened(windows: ReportWindows) {
  const told: boolean[] = [];
  return Object.assign(
    windows.open((full) => told.push(full)),
    { told },
  );
}

describe("a session's window", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is full with a MiB on its way, and open again with half of it", () => {
    const one = opened(new ReportWindows());
    one.move(MIB);
    expect(one.told).toEqual([]);
    one.move(1);
    one.move(MIB);
    expect(one.told).toEqual([true]);
    one.move(-MIB);
    expect(one.told).toEqual([true]);
    one.move(-MIB / 2 - 1);
    expect(one.told).toEqual([true, false]);
  });

  it("is smaller when all together have much on its way, so that quiet ones are heard", () => {
    const windows = new ReportWindows();
    const loud = Array.from({ length: 5 }, () => opened(windows));
    const late = opened(windows);
    const quiet = opened(windows);
    for (const one of loud) one.move(MIB);
    late.move(200 * KIB);
    quiet.move(10 * KIB);
    expect([late.full, quiet.full]).toEqual([true, false]);
    for (const one of loud) one.move(-MIB);
    expect([...loud, late].map(({ full }) => full)).not.toContain(true);
  });

  it("opens by itself when its acknowledgements stay away, whatever the others do", () => {
    const windows = new ReportWindows();
    const one = opened(windows);
    const other = opened(windows);
    one.move(2 * MIB);
    for (let second = 0; second < 11; second++) {
      other.move(KIB);
      other.move(-KIB);
      vi.advanceTimersByTime(1000);
    }
    expect(one.told).toEqual([true, false]);
    one.move(-2 * MIB);
    one.move(MIB);
    expect(one.full).toBe(false);
  });
});
