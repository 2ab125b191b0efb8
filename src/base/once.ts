/** Calls `make` once; a failure is not kept. */
export function once<T, A extends unknown[]>(
  make: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let made: Promise<T> | null = null;
  return (...args) => {
    made ??= make(...args).catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}
