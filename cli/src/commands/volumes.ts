/** @module `sandbar volumes`: storage that outlives sessions. */
import type { Command } from "commander";
import { cli } from "../invocation/global-options.ts";
import { number } from "../invocation/option-values.ts";
import { age, printList, printOne } from "../terminal/print.ts";

export function addVolumes(program: Command): void {
  const volumes = program.command("volumes").alias("volume").description("storage that outlives sessions");
  volumes
    .command("list", { isDefault: true })
    .alias("ls")
    .description("volumes of this tenant")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      printList(
        await client.volumes.list().all(),
        [
          { title: "id", value: (one) => one.id },
          { title: "name", value: (one) => one.name },
          { title: "size", value: (one) => one.size_mb && `${one.size_mb} MB`, right: true },
          { title: "host", value: (one) => one.host_id },
          { title: "made", value: (one) => age(one.created_at), right: true },
        ],
        output,
      );
    });
  volumes
    .command("create <name>")
    .description("make one; a session has it with --volume NAME:PATH")
    .option("--size <MB>", "how much it may hold (default: 10240, or the host's maximum)", number)
    .action(async (name: string, { size }: { size?: number }, command: Command) => {
      const { client, output } = cli(command);
      printOne(await client.volumes.create(name, size === undefined ? {} : { size_mb: size }), output);
    });
  volumes
    .command("remove <volume>")
    .alias("rm")
    .description("remove one, by name or id, with what is in it")
    .action(async (volume: string, _, command: Command) => {
      await cli(command).client.volumes.remove(volume);
      process.stderr.write(`removed ${volume}\n`);
    });
}
