import { NoDockerEngine } from "@sandbar/agent-host/setup/docker-engine.ts";
import { expect, test } from "vitest";
import { askedEngine, type Choice, chooseEngine, type HostEngine } from "./engine-choice.ts";

const DOCKER_IS_MISSING = "No Docker Engine answers, and starting one needs root.";

async function choose({ docker = true, ...choice }: Partial<Choice> & { docker?: boolean }) {
  const said: string[] = [];
  const chosen = await chooseEngine({
    asked: undefined,
    inUse: new Set<HostEngine>(),
    ensureDocker: async () => {
      if (!docker) throw new NoDockerEngine(DOCKER_IS_MISSING);
    },
    say: (line) => said.push(line),
    ...choice,
  });
  return { chosen, said: said.join("\n") };
}

test("the flag is asked before the environment, and other words are mistakes", () => {
  expect(askedEngine(undefined, {})).toBeUndefined();
  expect(askedEngine(undefined, { SANDBAR_ENGINE: "docker" })).toBe("docker");
  expect(askedEngine("wasm", { SANDBAR_ENGINE: "docker" })).toBe("wasm");
  expect(askedEngine("container", {})).toBe("docker");
  for (const word of ["podman", "", "constructor"])
    expect(() => askedEngine(word, {})).toThrow("--engine is");
  expect(() => askedEngine(undefined, { SANDBAR_ENGINE: "gvisor" })).toThrow("SANDBAR_ENGINE is");
});

test("containers come first; without Docker it is WebAssembly, and what is missing is said", async () => {
  expect(await choose({})).toEqual({ chosen: "docker", said: "" });
  const { chosen, said } = await choose({ docker: false });
  expect(chosen).toBe("wasm");
  expect(said).toContain(DOCKER_IS_MISSING);
  expect(said).toContain("bash, Node, R");
});

test("what was asked for is had or refused", async () => {
  const never = () => Promise.reject(new Error("Docker was asked"));
  expect(await choose({ asked: "wasm", ensureDocker: never })).toEqual({ chosen: "wasm", said: "" });
  await expect(choose({ asked: "docker", docker: false })).rejects.toThrow(DOCKER_IS_MISSING);
});

test("a failure that is not the lack of an engine is told, not worked around", async () => {
  const broken = () => Promise.reject(new Error("disk full"));
  await expect(choose({ ensureDocker: broken })).rejects.toThrow("disk full");
});

test("sessions that are there keep their engine", async () => {
  const { chosen, said } = await choose({ inUse: new Set(["wasm"]) });
  expect(chosen).toBe("wasm");
  expect(said).toContain("npm run down");
  await expect(choose({ docker: false, inUse: new Set(["docker"]) })).rejects.toThrow("--engine wasm");
  expect((await choose({ asked: "wasm", inUse: new Set(["docker"]) })).chosen).toBe("wasm");
});
