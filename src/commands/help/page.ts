/** A page of help before it is laid out: its words, without line breaks of their own. */

/** A term and its description, which may be empty. */
export type Item = readonly [term: string, description: string];

export interface List {
  title: string;
  items: readonly Item[];
  /** Descriptions stand below their terms: for terms that are commands. */
  below?: true;
  /** Columns of the terms; without it as many as the longest one takes. */
  termWidth?: number;
}

/** Paragraphs and lists, separated by empty lines. */
export type Page = readonly (string | List)[];
