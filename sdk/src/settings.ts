/** @module The agent's settings: its model, keys and manners, of the caller's tenant. */
import type { ModelChoices, ModelTest, PutSettings, Settings } from "@sandbar/shared";
import type { Http } from "./http.ts";

export type { ModelChoices, ModelTest, PutSettings, Settings };

const PATH = "/v1/settings";

export class AgentSettings {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Of keys only that they are set, and their last four characters. */
  get(): Promise<Settings> {
    return this.#http.json("GET", PATH);
  }

  /** Fields that are left out stay; null takes one back to the operator's. */
  put(changes: PutSettings): Promise<Settings> {
    return this.#http.json("PUT", PATH, { json: changes });
  }

  /** One real call to the model, with these changes if there are any; what the provider said. */
  test(changes: PutSettings = {}): Promise<ModelTest> {
    return this.#http.json("POST", `${PATH}/test`, { json: changes });
  }

  /** Which providers can be asked, and the models of an Ollama that runs. */
  models(): Promise<ModelChoices> {
    return this.#http.json("GET", `${PATH}/models`);
  }
}
