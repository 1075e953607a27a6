/** @module What must be known of an image before a container is made from it. */
import path from "node:path";
import { SandbarError } from "@sandbar/shared";
import type Docker from "dockerode";
import type { Log } from "../host/log.ts";
import { firstFile } from "./first-file.ts";
import { TEMPORARY } from "./labels.ts";

const PASSWD_LIMIT = 256 * 1024;
const REMEMBERED = 100;
const USUAL_PASSWD = `root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`;

export interface ImageFacts {
  readonly id: string;
  /** For each of these Docker would make storage without a limit, unless something else is mounted there. */
  readonly volumes: readonly string[];
  /** Its /etc/passwd. */
  readonly passwd: string;
}

export class Images {
  readonly #docker: Docker;
  readonly #hostId: string;
  readonly #log: Log;
  readonly #passwds = new Map<string, Promise<string>>();

  constructor(docker: Docker, hostId: string, log: Log) {
    this.#docker = docker;
    this.#hostId = hostId;
    this.#log = log;
  }

  async facts(image: string): Promise<ImageFacts> {
    const { Id, Config } = await this.#docker
      .getImage(image)
      .inspect()
      .catch((error: { statusCode?: number }) => {
        if (error.statusCode === 404)
          throw new SandbarError("IMAGE_NOT_FOUND", `${image} is not on this host`);
        throw error;
      });
    const declared = Object.keys(Config?.Volumes ?? {}).map((place) => path.posix.resolve("/", place));
    // Docker's bind strings know no way to write one.
    if (declared.some((place) => place.includes(":")))
      throw new SandbarError("IMAGE_UNSUPPORTED", `${image} has a VOLUME with a colon in its name`);
    return { id: Id, volumes: [...new Set(declared)], passwd: await this.#passwd(Id) };
  }

  #passwd(id: string): Promise<string> {
    let passwd = this.#passwds.get(id);
    if (!passwd) {
      passwd = this.#read(id).catch((error) => {
        this.#log.warn({ err: error, image: id }, "its /etc/passwd could not be read");
        return USUAL_PASSWD;
      });
      this.#passwds.set(id, passwd);
      if (this.#passwds.size > REMEMBERED) this.#passwds.delete(this.#passwds.keys().next().value!);
    }
    return passwd;
  }

  /** From a container that never runs. */
  async #read(id: string): Promise<string> {
    const container = await this.#docker.createContainer({
      Image: id,
      Entrypoint: [],
      Cmd: ["none"],
      Labels: TEMPORARY(this.#hostId),
      HostConfig: { NetworkMode: "none" },
    });
    try {
      const archive = await container.getArchive({ path: "/etc/passwd" }).catch((error) => {
        if (error.statusCode === 404) return null;
        throw error;
      });
      return archive ? ((await firstFile(archive, PASSWD_LIMIT)) ?? USUAL_PASSWD) : USUAL_PASSWD;
    } finally {
      await container.remove({ force: true, v: true });
    }
  }
}

/** With the sandbox's user under its number here. */
export function passwdWith(passwd: string, user: number, group: number): string {
  const lines = passwd.split("\n").filter((line) => line !== "" && line.split(":")[2] !== String(user));
  const known = lines.find((line) => line.startsWith("sandbox:"))?.split(":");
  const [home, shell] = known ? known.slice(5) : ["/session", "/bin/sh"];
  const others = lines.filter((line) => !line.startsWith("sandbox:"));
  return `${[...others, `sandbox:x:${user}:${group}::${home}:${shell}`].join("\n")}\n`;
}
