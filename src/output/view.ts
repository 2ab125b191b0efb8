/**
 * How records become rows. A view is data: the same one serves table, tsv, json, ndjson and id.
 */
export interface Field<T> {
  /** Name in json, tsv order, --fields; a column heading is its upper case with spaces. */
  name: string;
  get(item: T): unknown;
  /** How a terminal shows it: `time` relative, `id` shortened in a table, `status` coloured, `usd` with $. */
  as?: 'text' | 'id' | 'time' | 'status' | 'usd' | 'number' | 'bytes' | 'json';
  /** Columns with a higher weight keep their width longer; 0 = never cut. */
  weight?: number;
  /** What JSON holds there when it is not a plain value; for help. */
  json?: JsonShape;
}

/** An object with these members, or a list of such objects; a list without members holds plain values. */
export interface JsonShape {
  list?: true;
  members?: readonly string[];
}

/** The noun and the members of a record in JSON: what help prints of a view. */
export interface RecordShape {
  noun: string;
  fields: readonly { name: string; json?: JsonShape }[];
}

export interface View<T> {
  /** `conversation`, for messages such as "no conversations". */
  noun: string;
  id(item: T): string;
  /** All fields, in the order of JSON and of tsv; appending is free, reordering is a breaking change. */
  fields: readonly Field<T>[];
  /** Names shown in a table when --fields is not given. */
  table: readonly string[];
  /** Names in tsv when --fields is not given; columns only grow rightwards. */
  tsv: readonly string[];
  /** The whole record for JSON, when it is more than the fields. */
  record?(item: T): unknown;
  /** One plain line of a stream (`events`, `follow`); safe text and width are the renderer's work. */
  line?(item: T): LinePart[];
  /** Where the text of such a line begins: continuation lines begin there. Columns, 2 when it is not given. */
  lineIndent?: number;
}

export interface LinePart {
  text: string;
  tone?: 'dim' | 'bold' | 'good' | 'bad' | 'warn' | 'accent';
}
