/** @module The name of an image. */

/** The name with the tag that Docker reads into one without. */
export function withTag(image: string): string {
  const last = image.slice(image.lastIndexOf("/") + 1);
  return last.includes(":") || last.includes("@") ? image : `${image}:latest`;
}
