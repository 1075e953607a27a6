/** @module A chart over time. Loaded when one is looked at: uPlot is not for the first page. */
import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useDark } from "../../shell/theme.ts";
import { useWidth } from "../../ui/use-width.ts";
import { AXIS_STEPS, type AxisSteps, topOf } from "./axis-steps.ts";

/** Also that of what stands in its place while it is loaded. */
const HEIGHT = 144;

export interface ChartSeries {
  label: string;
  tone: "accent" | "danger" | "warn" | "faint";
  kind: "bars" | "line";
  values: readonly (number | null)[];
}

/** `onPoint` tells which point the mouse is at. */
export default function Chart({
  times,
  series,
  format,
  steps = "whole",
  onPoint,
}: {
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly ChartSeries[];
  format: (value: number) => string;
  /** What the axis counts in. */
  steps?: AxisSteps;
  onPoint: (index: number | null) => void;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const dark = useDark();
  const told = useRef(onPoint);
  told.current = onPoint;
  const formatted = useRef(format);
  formatted.current = format;
  const [plot, setPlot] = useState<uPlot | null>(null);
  const shape = series.map(({ label, tone, kind }) => `${label} ${tone} ${kind}`).join();
  const drawn = useRef(series);
  drawn.current = series;

  // The shape and the theme make it anew, data do not.
  useEffect(() => {
    const element = box.current;
    if (!element || width === 0) return;
    const colour = (name: string) => resolved(element, `var(--${name})`);
    const axis = {
      stroke: colour("faint"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { show: false },
      font: "11px 'Inter Variable', system-ui, sans-serif",
    };
    const made = new uPlot(
      {
        width,
        height: HEIGHT,
        padding: [8, 16, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { setScale: false } },
        hooks: { setCursor: [(self) => told.current(self.cursor.idx ?? null)] },
        scales: {
          // A bar begins where its step does, so there must be room for the last one.
          x: { range: (self, min, max) => [min, max + stepOf(self.data[0])] },
          y: { range: (_, __, max) => [0, topOf(max, steps)] },
        },
        axes: [
          { ...axis, grid: { show: false }, size: 34, gap: 4 },
          {
            ...axis,
            size: 52,
            gap: 4,
            space: 36,
            incrs: [...AXIS_STEPS[steps]],
            values: (_, values) => values.map((value) => formatted.current(value)),
          },
        ],
        series: [
          {},
          ...drawn.current.map(({ label, tone, kind }) => ({
            label,
            stroke: colour(tone),
            width: kind === "bars" ? 0 : 1.5,
            fill: kind === "bars" ? colour(tone) : undefined,
            // What has no neighbours has no line.
            points: { show: kind === "line", size: 5, filter: alone },
            ...(kind === "bars" ? { paths: uPlot.paths.bars!({ size: [0.7, 24], align: 1 }) } : {}),
          })),
        ],
      },
      toData(times, drawn.current),
      element,
    );
    setPlot(made);
    return () => {
      made.destroy();
      setPlot(null);
    };
  }, [width > 0, shape, dark]);

  useEffect(() => {
    if (plot && width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
  }, [plot, width]);
  useEffect(() => {
    plot?.setData(toData(times, series));
  }, [plot, times, series]);

  return <div ref={box} aria-hidden className="w-full" style={{ height: HEIGHT }} />;
}

const stepOf = (times: ArrayLike<number>) => (times.length > 1 ? times[1]! - times[0]! : 60);

function alone({ data }: uPlot, series: number): number[] {
  const values = data[series]!;
  const there = (index: number) => values[index] !== null && values[index] !== undefined;
  return Array.from(values.keys()).filter((index) => there(index) && !there(index - 1) && !there(index + 1));
}

function toData(times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
}

/** A canvas knows no custom properties, and the computed value of one is still `light-dark(…)`. */
function resolved(element: HTMLElement, colour: string): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  element.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
