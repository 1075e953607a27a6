import { expect, it } from "vitest";
import { readConfig } from "../host/config.ts";
import { poolSpec } from "../pool/pool-key.ts";
import { containerOptions } from "./container-options.ts";
import { isolationOf, seesLateMounts } from "./isolation.ts";

it("an OCI runtime is known by its name, and is no more than a container where nobody knows it", () => {
  const names = ["runsc", "runsc-kvm", "kata-runtime", "kata-fc", "sysbox-runc", "crun", "runc", undefined];
  expect(names.map(isolationOf)).toEqual([
    ...["gvisor", "gvisor", "kata", "kata", "sysbox"],
    ...["container", "container", "container"],
  ]);
  expect((["gvisor", "kata", "container"] as const).map(seesLateMounts)).toEqual([false, false, true]);
});

it("sandboxes have the host's runtime, or Docker's own", () => {
  const runtimeWith = (env: Record<string, string>) => {
    const config = readConfig(env);
    const placement = {
      ...{ host: "h", session: null, box: "b", image: "i", runFolder: "/r", user: 1, passwd: "/p" },
      ...{ storage: { binds: [], tmpfs: {} }, seccomp: "{}", network: "none" },
    };
    return containerOptions(config, poolSpec(config, "python"), placement).HostConfig;
  };
  expect(runtimeWith({ SANDBAR_OCI_RUNTIME: "crun" })).toMatchObject({ Runtime: "crun", PidsLimit: 256 });
  expect(runtimeWith({ SANDBAR_OCI_RUNTIME: "runsc" })).not.toHaveProperty("PidsLimit");
  expect(runtimeWith({})).not.toHaveProperty("Runtime");
  expect(() => runtimeWith({ SANDBAR_OCI_RUNTIME: "../crun" })).toThrow("SANDBAR_OCI_RUNTIME");
});
