/** @module Presigned R2 URLs, when the operator has given R2's S3 credentials. */
import { AwsClient } from "aws4fetch";
import type { Env } from "../env.ts";

export interface R2Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** `https://<account>.r2.cloudflarestorage.com`, without the bucket. */
  readonly endpoint: string;
  readonly bucket: string;
}

export function r2Credentials(env: Env): R2Credentials | null {
  const { R2_ACCESS_KEY_ID, R2_SECRET_ACCESS_KEY, R2_ENDPOINT, R2_BUCKET } = env;
  if (!R2_ACCESS_KEY_ID || !R2_SECRET_ACCESS_KEY || !R2_ENDPOINT || !R2_BUCKET) return null;
  return {
    accessKeyId: R2_ACCESS_KEY_ID,
    secretAccessKey: R2_SECRET_ACCESS_KEY,
    endpoint: R2_ENDPOINT.replace(/\/+$/, ""),
    bucket: R2_BUCKET,
  };
}

export async function presign(
  credentials: R2Credentials,
  method: "GET" | "PUT",
  key: string,
  query: Record<string, string>,
  expiresInS: number,
): Promise<string> {
  const { accessKeyId, secretAccessKey, endpoint, bucket } = credentials;
  const url = new URL(`${endpoint}/${bucket}/${key.split("/").map(encodeURIComponent).join("/")}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  url.searchParams.set("X-Amz-Expires", String(expiresInS));
  const client = new AwsClient({ accessKeyId, secretAccessKey, service: "s3", region: "auto" });
  const signed = await client.sign(url, { method, aws: { signQuery: true } });
  return signed.url;
}
