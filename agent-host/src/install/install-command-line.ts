/** @module What the words after `agent-host` mean that put a host on a machine, look after it, or take it away. */
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { IMAGE_NAMES, type ImageName } from "../../setup/images.ts";

const FOLDER = `  --root <folder>      put everything below this folder instead of /`;

export const INSTALL_HELP = {
  install: `Usage: agent-host install --url <url> --token <token> [options]

Makes this machine a host: checks it, installs Docker where there is none (Debian, Ubuntu), joins, builds the images,
and starts one systemd unit, sandbar-host. What is there already is kept, so it can be repeated.

  --url <url>          the control plane
  --token <token>      from \`sandbar hosts enroll\` or the console; works once, for 15 minutes
  --name <name>        what the host is called there (default: ${hostname()})
  --capacity <n>       sessions at once (default: 80 % of the memory by 1024 MB)
  --runtimes <list>    images to build: ${IMAGE_NAMES.join(", ")} (default: all)
  --home <folder>      identity, journal, volumes, files of sessions (default: /var/lib/sandbar)
${FOLDER}
  --dry-run            show every file and command, and change nothing

Examples:
  npx --yes --package=./sandbar-agent-host-0.1.0.tgz agent-host install --url https://sandbar.example.com --token sbe_…
  agent-host install --url https://sandbar.example.com --token sbe_… --name vps-1 --capacity 40 --runtimes python
  agent-host install --url https://sandbar.example.com --token sbe_… --dry-run
`,
  doctor: `Usage: agent-host doctor [--url <url>] [options]

Looks whether this machine can be a host, or is a healthy one, and says what to do. Changes nothing. Exits with 1 when
something must be done.

  --url <url>          the control plane (default: the one it joined)
  --json               the findings as JSON
${FOLDER}

Examples:
  agent-host doctor
  npx --yes --package=./sandbar-agent-host-0.1.0.tgz agent-host doctor --url https://sandbar.example.com
`,
  upgrade: `Usage: agent-host upgrade [options]

Run from the new package: puts that version in place of the one that runs. Sessions run on, and the new daemon adopts
them. When it does not come up, the old one is put back.

${FOLDER}
  --dry-run            show every file and command, and change nothing

Examples:
  npx --yes --package=./sandbar-agent-host-0.2.0.tgz agent-host upgrade
  npx --yes --package=./sandbar-agent-host-0.2.0.tgz agent-host upgrade --dry-run
`,
  uninstall: `Usage: agent-host uninstall [options]

Stops the sessions of this host and its daemon, and removes the unit, the program, the identity, its containers and its
home. Asks first. Images and Docker stay. Then \`sandbar hosts rm <host>\` makes the control plane forget it.

  --keep-data          leave the home: volumes, files of BIND sessions, caches; the identity goes all the same
  --yes                do not ask
${FOLDER}
  --dry-run            show everything that would go, and change nothing

Examples:
  agent-host uninstall
  agent-host uninstall --keep-data --yes
`,
} as const;

export type InstallVerb = keyof typeof INSTALL_HELP;

interface Common {
  readonly root: string;
  readonly dryRun: boolean;
}
export interface InstallOptions extends Common {
  readonly url: string;
  readonly token: string;
  readonly name: string;
  readonly capacity: number | undefined;
  readonly runtimes: readonly ImageName[];
  readonly home: string | undefined;
}
export interface DoctorOptions extends Common {
  readonly url: string | undefined;
  readonly json: boolean;
}
export interface UninstallOptions extends Common {
  readonly keepData: boolean;
  readonly yes: boolean;
}
export type InstallInvocation =
  | { verb: "help"; of: InstallVerb }
  | ({ verb: "install" } & InstallOptions)
  | ({ verb: "doctor" } & DoctorOptions)
  | ({ verb: "upgrade" } & Common)
  | ({ verb: "uninstall" } & UninstallOptions);

export class WrongWords extends Error {
  readonly verb: InstallVerb;
  constructor(verb: InstallVerb, message: string) {
    super(message);
    this.verb = verb;
  }
}

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const OPTIONS = {
  install: {
    ...{ url: text, token: text, name: text, capacity: text, runtimes: text, home: text },
    "dry-run": flag,
  },
  doctor: { url: text, json: flag },
  upgrade: { "dry-run": flag },
  uninstall: { "keep-data": flag, yes: flag, "dry-run": flag },
} as const;

interface Values {
  readonly [name: string]: string | boolean | undefined;
}

export function parseInstallWords([word, ...args]: readonly string[]): InstallInvocation {
  const verb = word as InstallVerb;
  const refuse = (message: string): never => {
    throw new WrongWords(verb, message);
  };
  let values: Values;
  try {
    const options = { ...OPTIONS[verb], root: text, help: { ...flag, short: "h" } };
    values = parseArgs({ args, options, strict: true, allowPositionals: false }).values as Values;
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (values.help) return { verb: "help", of: verb };
  const said = (name: string) => values[name] as string | undefined;
  const common = { root: said("root") ?? "/", dryRun: values["dry-run"] === true };
  const url = said("url")?.replace(/\/+$/, "");
  if (url !== undefined && (!/^https?:\/\//.test(url) || !URL.canParse(url)))
    refuse("--url must be an http or https URL");
  switch (verb) {
    case "doctor":
      return { verb, ...common, url, json: values.json === true };
    case "upgrade":
      return { verb, ...common };
    case "uninstall":
      return { verb, ...common, keepData: values["keep-data"] === true, yes: values.yes === true };
    default: {
      if (!url) refuse("install needs --url <url>");
      const token =
        said("token") ?? refuse("install needs --token <token>; `sandbar hosts enroll` makes one");
      const capacity = said("capacity");
      if (capacity !== undefined && !/^\d{1,5}$/.test(capacity))
        refuse("--capacity must be a number of sessions");
      const runtimes = (said("runtimes") ?? IMAGE_NAMES.join(",")).split(",").map((name) => name.trim());
      for (const name of runtimes)
        if (!(IMAGE_NAMES as readonly string[]).includes(name))
          refuse(`--runtimes has ${name}; known are ${IMAGE_NAMES.join(", ")}`);
      return {
        verb: "install",
        ...common,
        url: url!,
        token,
        name: said("name") ?? hostname(),
        capacity: capacity === undefined ? undefined : Number(capacity),
        runtimes: runtimes as ImageName[],
        home: said("home"),
      };
    }
  }
}
