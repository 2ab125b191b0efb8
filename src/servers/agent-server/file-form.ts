/** A multipart form with one file, made while it is sent. */
import type { SandboxContent } from '../../domain/sandbox-files.ts';
import type { BodyStream } from '../transport/stream.ts';

type Form = NonNullable<BodyStream['upload']> & {
  /** How many bytes of the file were sent in the last try. */
  sent: () => number;
};

/** @param id random: a file has it by chance in none of its lines */
export function fileForm({ bytes, parts }: Pick<SandboxContent, 'bytes' | 'parts'>, id: string): Form {
  const boundary = `acs-${id}`;
  const before = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  let sent = 0;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: bytes === null ? null : before.length + bytes + after.length,
    async *parts() {
      sent = 0;
      yield before;
      for await (const part of parts()) {
        sent += part.length;
        yield part;
      }
      yield after;
    },
    sent: () => sent,
  };
}
