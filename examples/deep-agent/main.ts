/**
 * A deep agent (the `deepagents` package) whose file system and shell are a Sandbar session: it plans, writes files,
 * edits them and runs them, and the results are read back from the same session.
 *
 * @module
 */
import { HumanMessage } from "@langchain/core/messages";
import { SandbarSandbox } from "@sandbar/sdk/deepagents";
import { Config } from "@sandbar/sdk/node";
import { createDeepAgent } from "deepagents";
import { chooseModel } from "../choose-model.ts";

const client = Config.fromEnv().client();
await using backend = await SandbarSandbox.create({ client, timeoutS: 60 });

const program =
  "import json\nprimes = [n for n in range(2, 30) if all(n % d for d in range(2, n))]\nprint(primes)\n";
const agent = createDeepAgent({
  backend,
  model: await chooseModel([
    [{ tool: "write_file", args: { file_path: "/session/primes.py", content: program } }],
    [{ tool: "execute", args: { command: "python3 primes.py" } }],
    [
      {
        tool: "edit_file",
        args: {
          file_path: "/session/primes.py",
          old_string: "print(primes)",
          new_string: "json.dump(primes, open('primes.json', 'w'))",
        },
      },
    ],
    [{ tool: "execute", args: { command: "python3 primes.py && wc -c primes.json" } }],
    "The primes below 30 are in /session/primes.json.",
  ]),
});

const { messages } = await agent.invoke({
  messages: [new HumanMessage("Write a program that saves the primes below 30 as JSON, and run it.")],
});
for (const message of messages) if (message.text) console.log(`${message.type}: ${message.text}`);
console.log("read back:", await backend.session.files.readText("/session/primes.json"));
