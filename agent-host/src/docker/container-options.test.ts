import { describe, expect, it } from "vitest";
import { readConfig } from "../host/config.ts";
import { poolSpec } from "../pool/pool-key.ts";
import { containerOptions } from "./container-options.ts";

const config = readConfig({ SANDBAR_MAX_OPEN_FILES: "1000" });
const placement = {
  host: "h",
  box: "b",
  image: "i",
  runFolder: "/r",
  storage: { binds: [], tmpfs: {} },
  user: 1_000_007,
  passwd: "/p",
  seccomp: "{}",
  network: "none",
};

describe("a container", () => {
  it("of a session has its label and name", () => {
    const options = containerOptions(config, poolSpec(config, "python"), { ...placement, session: "ses_1" });
    expect(options.name).toBe("sandbar-ses_1");
    expect(options.Labels).toEqual({ "sandbar.host": "h", "sandbar.box": "b", "sandbar.session": "ses_1" });
  });

  it("of the pool has no session, and says so", () => {
    const options = containerOptions(config, poolSpec(config, "python"), { ...placement, session: null });
    expect(options.name).toBeUndefined();
    expect(options.Labels).toEqual({ "sandbar.host": "h", "sandbar.box": "b", "sandbar.pool": "1" });
  });

  it("is a user of its own, whom its /etc/passwd knows", () => {
    const options = containerOptions(config, poolSpec(config, "python"), { ...placement, session: null });
    expect(options.User).toBe("1000007:65532");
    expect(options.HostConfig?.Binds).toContain("/p:/etc/passwd:ro");
  });

  it("may open as many files as the operator says", () => {
    const options = containerOptions(config, poolSpec(config, "python"), { ...placement, session: null });
    expect(options.HostConfig?.Ulimits).toContainEqual({ Name: "nofile", Soft: 1000, Hard: 1000 });
  });

  it("is told when the operator wants no forked kernels", () => {
    const off = readConfig({ SANDBAR_KERNEL_PRELOAD: "off" });
    const envOf = (of: typeof config) =>
      containerOptions(of, poolSpec(of, "python"), { ...placement, session: null }).Env;
    expect(envOf(off)).toContain("SANDBAR_KERNEL_PRELOAD=off");
    expect(envOf(config)?.join()).not.toContain("PRELOAD");
  });
});
