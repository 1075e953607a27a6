/** @module What a field means, with an example. */

/** The example is left out where the parts of a value have examples of their own. */
export type FieldNote = readonly [description: string, example?: unknown];

/** By field, or by owner and field: a resource, a part of the API, a place of parameters or the field around it. */
export type FieldNotes = Readonly<Record<string, FieldNote>>;
