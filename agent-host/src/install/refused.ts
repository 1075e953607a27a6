/** @module What is not done, and why: no fault of this program. */

export class Refused extends Error {}
