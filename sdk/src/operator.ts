/** @module What operators and admins look after: hosts, keys, policies, dataset sources, volumes. */
import type {
  ApiKey,
  CreateDatasetSource,
  DatasetSource,
  Host,
  HostLoad,
  Policy,
  Scope,
  TenantPolicy,
  Volume,
} from "@sandbar/shared";
import type { Http } from "./http.ts";
import { Listing } from "./listing.ts";

export interface Enrollment {
  token: string;
  expires_at: string;
}

export interface Usage {
  tenant: string;
  sessions: number;
  executions: number;
  seconds: number;
  bytes: number;
  live_sessions: number;
  artifacts: { count: number; bytes: number };
  /** What they may hold together, whatever is in them. */
  volumes: { count: number; size_mb: number };
  /** Bytes over the network by name since midnight of UTC, both ways. */
  egress: { bytes_today: number };
  /** What the tenant may have at once; null: no limit. */
  limits: {
    live_sessions: number | null;
    memory_mb: number | null;
    cpus: number | null;
    /** Of one host, while there are other tenants. */
    host_percent: number;
    volumes: number | null;
    volume_mb: number | null;
    requests_per_minute: number | null;
    executions_per_minute: number | null;
    egress_mb_per_day: number | null;
    artifact_count: number | null;
    artifact_bytes: number | null;
  };
  /** What its sessions may use together. */
  reserved: { memory_mb: number; cpus: number };
}

export class Hosts {
  readonly #http: Http;
  constructor(http: Http) {
    this.#http = http;
  }

  list(): Listing<Host> {
    return new Listing(this.#http, "/v1/hosts");
  }

  get(id: string): Promise<Host> {
    return this.#http.json("GET", `/v1/hosts/${encodeURIComponent(id)}`);
  }

  /** How busy it is, as the host itself says: load, memory, disk, warm pool. */
  load(id: string): Promise<HostLoad> {
    return this.#http.json("GET", `/v1/hosts/${encodeURIComponent(id)}/load`);
  }

  /** A token with which one machine may join, once, within 15 minutes. */
  enroll(): Promise<Enrollment> {
    return this.#http.json("POST", "/v1/hosts/enrollments");
  }

  /** Places nothing new there. */
  cordon(id: string): Promise<void> {
    return this.#http.send("POST", `/v1/hosts/${encodeURIComponent(id)}/cordon`, { safe: true });
  }

  uncordon(id: string): Promise<void> {
    return this.#http.send("POST", `/v1/hosts/${encodeURIComponent(id)}/uncordon`, { safe: true });
  }

  /** Cordons, and stops its sessions. */
  drain(id: string): Promise<void> {
    return this.#http.send("POST", `/v1/hosts/${encodeURIComponent(id)}/drain`, { safe: true });
  }

  remove(id: string): Promise<void> {
    return this.#http.send("DELETE", `/v1/hosts/${encodeURIComponent(id)}`);
  }
}

export class Keys {
  readonly #http: Http;
  constructor(http: Http) {
    this.#http = http;
  }

  list(): Listing<ApiKey> {
    return new Listing(this.#http, "/v1/keys");
  }

  /** The secret is in this answer and nowhere else. */
  create(key: {
    name: string;
    scopes: Scope[];
    tenant?: string;
    expires_at?: string;
  }): Promise<ApiKey & { secret: string }> {
    return this.#http.json("POST", "/v1/keys", { json: key });
  }

  remove(id: string): Promise<void> {
    return this.#http.send("DELETE", `/v1/keys/${encodeURIComponent(id)}`);
  }
}

export type { DatasetSource };

/** `url_template` has `{id}`, and `{version}` where the source keeps several; `headers` are never shown again. */
export type NewDatasetSource = Pick<CreateDatasetSource, "name" | "url_template"> &
  Partial<CreateDatasetSource>;

export class DatasetSources {
  readonly #http: Http;
  constructor(http: Http) {
    this.#http = http;
  }

  list(): Listing<DatasetSource> {
    return new Listing(this.#http, "/v1/dataset-sources");
  }

  create(source: NewDatasetSource): Promise<DatasetSource> {
    return this.#http.json("POST", "/v1/dataset-sources", { json: source });
  }

  remove(id: string): Promise<void> {
    return this.#http.send("DELETE", `/v1/dataset-sources/${encodeURIComponent(id)}`);
  }
}

/** What tenants may do and how much they may have; `*` stands for all of them. */
export class Policies {
  readonly #http: Http;
  constructor(http: Http) {
    this.#http = http;
  }

  /** Those that were set. */
  list(): Listing<TenantPolicy> {
    return new Listing(this.#http, "/v1/policies");
  }

  get(tenant: string): Promise<TenantPolicy> {
    return this.#http.json("GET", `/v1/policies/${encodeURIComponent(tenant)}`);
  }

  /** Instead of the one before. */
  put(tenant: string, policy: Policy): Promise<TenantPolicy> {
    return this.#http.json("PUT", `/v1/policies/${encodeURIComponent(tenant)}`, { json: policy });
  }

  remove(tenant: string): Promise<void> {
    return this.#http.send("DELETE", `/v1/policies/${encodeURIComponent(tenant)}`);
  }
}

export type { Volume };

export class Volumes {
  readonly #http: Http;
  constructor(http: Http) {
    this.#http = http;
  }

  list(): Listing<Volume> {
    return new Listing(this.#http, "/v1/volumes");
  }

  create(name: string, options: { size_mb?: number } = {}): Promise<Volume> {
    return this.#http.json("POST", "/v1/volumes", { json: { name, ...options } });
  }

  remove(nameOrId: string): Promise<void> {
    return this.#http.send("DELETE", `/v1/volumes/${encodeURIComponent(nameOrId)}`);
  }
}
