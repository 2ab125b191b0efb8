/** Recognises errors of the storage, so that an answer names them instead of "Internal Server Error". */

export interface StorageError {
  /** 507 Insufficient Storage, or 500. */
  status: 507 | 500;
  text: string;
}

/** What a failed write means; null: it is something else. */
export function storageError(error: unknown): StorageError | null {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const words = `${String(code)} ${String(message)}`;
  if (/ENOSPC|EDQUOT|SQLITE_FULL|database or disk is full/.test(words)) {
    return { status: 507, text: 'The disk of the data directory is full; nothing was stored.' };
  }
  if (/EROFS|SQLITE_READONLY|readonly database/.test(words)) {
    return { status: 500, text: 'The data directory cannot be written; nothing was stored.' };
  }
  if (/EACCES|EPERM|SQLITE_CANTOPEN|unable to open database/.test(words)) {
    return { status: 500, text: 'The data directory cannot be opened; nothing was stored.' };
  }
  if (/SQLITE_CORRUPT|SQLITE_NOTADB|malformed|not a database/.test(words)) {
    return {
      status: 500,
      text: 'A file of the data directory is damaged; it is left as it is, and nothing was stored.',
    };
  }
  if (/SQLITE_IOERR|disk I\/O error/.test(words)) {
    return { status: 500, text: 'The data directory could not be read or written; nothing was stored.' };
  }
  return null;
}
