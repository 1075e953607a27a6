/** @module Images that a session names itself: fetched if need be, and looked into once before anything is promised. */
import type { Language, SessionSpec } from "@sandbar/shared";
import { LanguageSchema, readJson, SandbarError, withTag } from "@sandbar/shared";
import { z } from "zod";
import { followStream } from "../../../setup/follow-stream.ts";
import type { Config } from "../../host/config.ts";
import type { Log } from "../../host/log.ts";
import type { Containers } from "../containers.ts";

const PROBE_TIMEOUT_MS = 30_000;
const REMEMBERED = 1000;
/** Names of our own are built on the host; whoever has that name in a public registry is not us. */
const OWN = "sandbar/";

const PROBE = `
import json, os, sys
have = lambda name: any(os.access(os.path.join(d, name), os.X_OK) for d in os.environ.get("PATH", os.defpath).split(":"))
found = ["python"] + [l for l, p in (("node", "node"), ("r", "Rscript"), ("bash", "bash")) if have(p)]
print(json.dumps({"version": list(sys.version_info[:3]), "languages": found}))
`;

const ProbeSchema = z.object({
  version: z.tuple([z.number().int(), z.number().int(), z.number().int()]),
  languages: z.array(LanguageSchema),
});

/** What an image lacks, in words that follow its name. */
class Unfit extends Error {}

type Step = (step: string, detail: string) => void;

export class CustomImages {
  readonly #config: Config;
  readonly #containers: Containers;
  readonly #log: Log;
  readonly #looks = new Map<string, Promise<z.infer<typeof ProbeSchema>>>();
  readonly #pulls = new Map<string, { done: Promise<void>; steps: Set<Step> }>();

  constructor(config: Config, containers: Containers, log: Log) {
    this.#config = config;
    this.#containers = containers;
    this.#log = log;
  }

  /** Throws what the caller of the session should read. */
  async prepare(image: string, { runtime }: Pick<SessionSpec, "runtime">, step: Step): Promise<void> {
    if (!(await this.#containers.hasImage(image))) await this.#pull(image, step);
    const id = await this.#containers.imageId(image);
    let look = this.#looks.get(id);
    if (!look) {
      step("probe", image);
      look = this.#probe(image);
      this.#looks.set(id, look);
      look.catch((error) => {
        // Docker's own trouble says nothing about the image.
        if (!(error instanceof Unfit)) this.#looks.delete(id);
      });
      if (this.#looks.size > REMEMBERED) this.#looks.delete(this.#looks.keys().next().value!);
    }
    const { languages } = await look.catch((error) => {
      // Whoever asked first may have called it by another name.
      if (error instanceof Unfit) throw new SandbarError("IMAGE_UNSUPPORTED", `${image} ${error.message}`);
      throw error;
    });
    if (!languages.includes(runtime as Language))
      throw new SandbarError("IMAGE_UNSUPPORTED", `${image} has ${languages.join(", ")}, but no ${runtime}`);
  }

  async #pull(image: string, step: Step): Promise<void> {
    if (image.startsWith(OWN))
      throw new SandbarError("IMAGE_NOT_FOUND", `${image} is not on this host, and ${OWN}* is never pulled`);
    let pull = this.#pulls.get(image);
    if (!pull) {
      const steps = new Set<Step>();
      const done = this.#fetch(image, (detail) => {
        for (const tell of steps) tell("pull", detail);
      }).finally(() => this.#pulls.delete(image));
      done.catch(() => {});
      pull = { done, steps };
      this.#pulls.set(image, pull);
    }
    step("pull", image);
    pull.steps.add(step);
    await pull.done.finally(() => pull.steps.delete(step));
  }

  async #fetch(image: string, tell: (detail: string) => void): Promise<void> {
    const { docker } = this.#containers;
    const signal = AbortSignal.timeout(this.#config.pullTimeoutMs);
    try {
      // Without a tag the engine would fetch all of them.
      const stream = await docker.pull(withTag(image), { abortSignal: signal });
      signal.addEventListener("abort", () =>
        (stream as { destroy?(e: Error): void }).destroy?.(signal.reason),
      );
      await followStream(docker, stream, ({ status, id }: { status?: string; id?: string }) => {
        if (status && !/^(Downloading|Extracting|Waiting)/.test(status))
          tell(`${id ? `${id}: ` : ""}${status}`.slice(0, 200));
      });
    } catch (error) {
      const reason = signal.aborted
        ? `the pull took longer than ${this.#config.pullTimeoutMs / 1000} s`
        : (error as Error).message.slice(0, 500);
      throw new SandbarError("IMAGE_NOT_FOUND", `${image}: ${reason}`);
    }
    this.#log.info({ image }, "pulled an image");
  }

  async #probe(image: string): Promise<z.infer<typeof ProbeSchema>> {
    const end = await this.#containers.temporary
      .run({
        image,
        command: ["python3", "-I", "-c", PROBE],
        env: [],
        binds: [],
        network: "none",
        timeoutMs: PROBE_TIMEOUT_MS,
      })
      .catch((error: Error) => {
        if (/executable file not found|no such file or directory/.test(error.message))
          throw new Unfit("has no python3");
        if (/exec format error/.test(error.message)) throw new Unfit("is for another architecture");
        throw error;
      });
    if (/exec format error/.test(end.output)) throw new Unfit("is for another architecture");
    const parsed = ProbeSchema.safeParse(readJson(end.stdout));
    if (end.exitCode !== 0 || !parsed.success) {
      const said = end.stopped ?? (end.output.trim().slice(-500) || `exit code ${end.exitCode}`);
      throw new Unfit(
        /python3.*(not found|No such file)/i.test(said)
          ? "has no python3"
          : `has a python3 that does not run: ${said}`,
      );
    }
    const [major, minor] = parsed.data.version;
    if (major < 3 || (major === 3 && minor < 9))
      throw new Unfit(`has Python ${parsed.data.version.join(".")}`);
    return parsed.data;
  }
}
