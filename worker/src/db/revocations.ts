/** @module How many keys, tokens and sign-ins were taken back, in D1: one number, cheap to ask for again and again. */

/** Stands in one transaction with what takes something back. */
export const revocation = (d1: D1Database): D1PreparedStatement =>
  d1.prepare("UPDATE revocations SET count = count + 1");

export async function countRevocations(d1: D1Database): Promise<number> {
  return (await d1.prepare("SELECT count FROM revocations").first<number>("count")) ?? 0;
}
