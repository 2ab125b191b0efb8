const KINDS = [
  [/ENOSPC|EDQUOT|SQLITE_FULL|disk is full/, 507, 'The disk of the data directory is full'],
  [/EROFS|SQLITE_READONLY|readonly database/, 500, 'The data directory cannot be written'],
  [
    /EACCES|EPERM|SQLITE_CANTOPEN|unable to open (?:database|connection)/i,
    500,
    'The data directory cannot be opened',
  ],
  [
    /SQLITE_CORRUPT|SQLITE_NOTADB|malformed|not a database/,
    500,
    'A file of the data directory is damaged and kept',
  ],
  [/SQLITE_IOERR|disk I\/O error/, 500, 'The data directory could not be read or written'],
] as const;

/** An error without a stack, which libraries print: a damaged file is no fault of the code. */
export function damage(message: string): Error {
  return Object.assign(new Error(message), { stack: message });
}

/** Null: not a failed write. Status 507 is Insufficient Storage. */
export function storageError(error: unknown): { status: 507 | 500; text: string } | null {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const kind = KINDS.find(([pattern]) => pattern.test(`${String(code)} ${String(message)}`));
  return kind === undefined ? null : { status: kind[1], text: `${kind[2]}; nothing was stored.` };
}
