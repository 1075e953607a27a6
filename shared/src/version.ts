/** @module The one version of every package of this repository; a test holds their manifests to it. */
export const VERSION = "0.1.0";
