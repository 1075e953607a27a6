import { describe, expect, it } from "vitest";
import { EnginePaths } from "./engine-paths.ts";
import { containerIdIn } from "./own-container.ts";

const paths = new EnginePaths({
  mounts: [
    { source: "/var/lib/docker/volumes/sandbar_state/_data", destination: "/var/lib/sandbar" },
    { source: "/srv/datasets", destination: "/var/lib/sandbar/datasets" },
    { source: "/run/docker.sock", destination: "/var/run/docker.sock" },
  ],
});

describe("the engine's paths", () => {
  it("are the daemon's own outside of a container", () => {
    const same = new EnginePaths(null);
    expect(same.binds(["/home/boxes/b/run:/run/sandbar:ro"])).toEqual(["/home/boxes/b/run:/run/sandbar:ro"]);
    expect(same.ofDaemon("/home/boxes")).toBe("/home/boxes");
  });

  it("are those of the innermost mount", () => {
    expect(paths.ofEngine("/var/lib/sandbar")).toBe("/var/lib/docker/volumes/sandbar_state/_data");
    expect(paths.binds(["/var/lib/sandbar/boxes/b/run:/run/sandbar:ro"])).toEqual([
      "/var/lib/docker/volumes/sandbar_state/_data/boxes/b/run:/run/sandbar:ro",
    ]);
    expect(paths.ofEngine("/var/lib/sandbar/datasets/sales")).toBe("/srv/datasets/sales");
  });

  it("lead back", () => {
    expect(paths.ofDaemon("/var/lib/docker/volumes/sandbar_state/_data/deps/t")).toBe(
      "/var/lib/sandbar/deps/t",
    );
    expect(paths.ofDaemon("/elsewhere")).toBe("/elsewhere");
  });

  it("cannot be had for what the container has to itself; a name that only begins alike is another folder", () => {
    for (const own of ["/opt/sandbar/images", "/var/lib/sandbar-other"])
      expect(() => paths.ofEngine(own)).toThrow(`where ${own} is its own`);
  });
});

describe("a container's id", () => {
  const id = "4f".repeat(32);

  it("is in the mount table of Docker's and of Podman's containers", () => {
    const docker = `745 726 254:0 /var/lib/docker/containers/${id}/hostname /etc/hostname rw,relatime - ext4 /dev/vda rw`;
    const podman = `745 726 0:25 /containers/storage/overlay-containers/${id}/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw`;
    expect(containerIdIn(`22 1 0:21 / / rw - overlay overlay rw\n${docker}`)).toBe(id);
    expect(containerIdIn(podman)).toBe(id);
  });

  it("is not on a machine, nor where somebody mounted something else there", () => {
    expect(containerIdIn("22 1 254:0 / / rw,relatime - ext4 /dev/vda rw")).toBeNull();
    expect(containerIdIn("23 1 254:0 /etc/real-hosts /etc/hosts rw - ext4 /dev/vda rw")).toBeNull();
    expect(containerIdIn("")).toBeNull();
  });
});
