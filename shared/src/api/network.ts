/** @module Network by name: what a session may reach, and what it did reach. */
import { z } from "zod";
import { NETWORK_RULE_LIMIT, SESSION_SECRET_LIMIT } from "../limits.ts";

const LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
const RULE = new RegExp(
  `^(?:(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*|\\[[0-9A-Fa-f:.]+\\])(?::([1-9][0-9]{0,4}))?$`,
);

/** A name, all names below one (`*.example.com`), or an address; without a port 80 and 443. */
export const NetworkRuleSchema = z
  .string()
  .max(260)
  .regex(RULE, "must be like files.example.org, *.example.com or api.example.com:8443")
  .refine((rule) => Number(RULE.exec(rule)?.[1] ?? 1) <= 65_535, "the port must be at most 65535");

/** Headers that frame a message or concern one hop; nobody's secret is in them. */
const NOT_SECRET =
  /^(host|connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

const HeaderNameSchema = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be a header's name")
  .refine((name) => !NOT_SECRET.test(name), "this header is not for secrets");

export const SecretValueSchema = z
  .string()
  .min(1)
  .max(8_192)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, "must be what a header may hold: visible ASCII");

/** A name or address, without a star; without a port 443. */
export const SecretHostSchema = NetworkRuleSchema.refine((rule) => !rule.startsWith("*"), "must be one host");

export const SecretNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, "must be small letters, digits, . _ and -");

/** A header that the host adds on the way to one of its hosts, which is allowed with that. */
const NetworkSecretSchema = z
  .strictObject({
    host: SecretHostSchema,
    header: HeaderNameSchema,
    value: SecretValueSchema.optional(),
    secret: SecretNameSchema.optional(),
  })
  .refine(({ value, secret }) => (value === undefined) !== (secret === undefined), "give value or secret");

/** Whatever is not named is denied. */
export const NetworkRulesSchema = z.strictObject({
  allow: z.array(NetworkRuleSchema).max(NETWORK_RULE_LIMIT).default([]),
  secrets: z.array(NetworkSecretSchema).max(SESSION_SECRET_LIMIT).optional(),
});
export type NetworkRules = z.infer<typeof NetworkRulesSchema>;
export type NetworkRulesInput = z.input<typeof NetworkRulesSchema>;

export const NetworkModeSchema = z.enum(["none", "egress"]);
export const NetworkSchema = z.union([NetworkModeSchema, NetworkRulesSchema]);

/** As everybody may see it. `secret`: a stored one's name; missing for one that came with the rules. */
export const ShownSecretSchema = z.object({
  host: z.string(),
  header: z.string(),
  secret: z.string().optional(),
});

/** As hosts hear of them: `version` grows with each change. What secrets say, they ask for when they need it. */
export const SessionRulesSchema = z.object({
  version: z.number().int().positive(),
  allow: z.array(z.string()),
  secrets: z.array(ShownSecretSchema).optional(),
});
export type SessionRules = z.infer<typeof SessionRulesSchema>;

/** One connection through the proxy, or one request of plain HTTP. */
export const NetworkConnectionSchema = z.object({
  at: z.string().max(64),
  host: z.string().max(256),
  port: z.number().int(),
  outcome: z.enum(["ok", "denied", "failed"]),
  /** Why not, or why it ended. */
  detail: z.string().max(300),
  bytes_up: z.number().int().nonnegative(),
  bytes_down: z.number().int().nonnegative(),
  duration_ms: z.number().nonnegative(),
});
export type NetworkConnection = z.infer<typeof NetworkConnectionSchema>;

/** Lines in one message to the control plane, and of those that a host keeps of a session. */
export const NETWORK_LINES = 50;

/** What a host knows of a session's network. Counts begin anew with its daemon. */
export const NetworkUseSchema = z.object({
  open: z.number().int().nonnegative(),
  connections: z.number().int().nonnegative(),
  denied: z.number().int().nonnegative(),
  bytes_up: z.number().int().nonnegative(),
  bytes_down: z.number().int().nonnegative(),
  recent: z.array(NetworkConnectionSchema).max(NETWORK_LINES),
});
export type NetworkUse = z.infer<typeof NetworkUseSchema>;

export const SessionNetworkSchema = z.object({
  allow: z.array(z.string()),
  secrets: z.array(ShownSecretSchema),
  use: NetworkUseSchema,
});
export type SessionNetwork = z.infer<typeof SessionNetworkSchema>;

/** A stored secret: `hosts` says where it may be sent; empty: wherever a session of the tenant says. */
export const PutSecretSchema = z.strictObject({
  value: SecretValueSchema,
  hosts: z.array(SecretHostSchema).max(20).default([]),
});
export type PutSecret = z.input<typeof PutSecretSchema>;

export const SecretSchema = z.object({
  name: z.string(),
  hosts: z.array(z.string()),
  created_at: z.string(),
  updated_at: z.string(),
});
export type Secret = z.infer<typeof SecretSchema>;

/** What a host gets for one of its sessions: a value for each of the rules' secrets, null where there is none any more. */
export const SecretValuesSchema = z.object({
  version: z.number().int(),
  values: z.array(ShownSecretSchema.extend({ value: z.string().nullable() })),
});
export type SecretValues = z.infer<typeof SecretValuesSchema>;
