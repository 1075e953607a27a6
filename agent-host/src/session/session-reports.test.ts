import { CONTEXT_LIMIT, type HostFrame, SessionReportSchema } from "@sandbar/shared";
import { expect, it } from "vitest";
import { SessionReports, type SessionReportsOptions } from "./session-reports.ts";

it("says the last losses, and no more than a report holds, however many contexts came and went", () => {
  const sent: HostFrame[] = [];
  const reports = new SessionReports({
    row: { id: "ses_1", report: { state: "ready", languages: ["python"], image: "sandbar/python" } },
    link: { send: (frame: HostFrame) => sent.push(frame) > 0 },
  } as unknown as SessionReportsOptions);
  for (let i = 1; i <= CONTEXT_LIMIT + 3; i++) reports.lost(`c${i}`, { at: i, exit: null });
  const { report } = reports.inventory(false);
  expect(report).toMatchObject({ lost: expect.any(Array) });
  const { lost } = SessionReportSchema.parse(report) as Extract<typeof report, { state: "ready" }>;
  expect(lost!.map(({ context }) => context)).toEqual(
    Array.from({ length: CONTEXT_LIMIT }, (_, i) => `c${i + 4}`),
  );
  expect(sent).toHaveLength(CONTEXT_LIMIT + 3);
});
