/** @module Which versions of a wire go together: hosts, control plane and running guests are never upgraded in one moment. */

/** Each side also knows the version before its own. The newer one speaks the older one's; that is its business. */
export function understands(own: number, other: number): boolean {
  return other === own || other === own - 1;
}
