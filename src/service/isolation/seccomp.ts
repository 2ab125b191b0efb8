// Namespaces do not separate the session keyring, nor vsock sockets, which reach the host of a
// virtual machine. io_uring creates sockets without a call that a filter could refuse.

/** `refused`: add_key, request_key, keyctl, io_uring_setup and, on i386, socketcall. */
interface Architecture {
  /** AUDIT_ARCH_* of linux/audit.h */
  id: number;
  refused: number[];
  socket: number;
}

/** For each machine: its own architecture and that of its 32-bit programs. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, Architecture[]>> = {
  x64: [
    { id: 0xc000003e, refused: [248, 249, 250, 425], socket: 41 },
    { id: 0x40000003, refused: [286, 287, 288, 425, 102], socket: 359 },
  ],
  arm64: [
    { id: 0xc00000b7, refused: [217, 218, 219, 425], socket: 198 },
    { id: 0x40000028, refused: [309, 310, 311, 425], socket: 281 },
  ],
};

const AF_VSOCK = 40;
/** The calls of the x32 interface have the architecture of x86-64, and numbers from here on. */
const FIRST_X32 = 0x40000000;

/** Offsets in `struct seccomp_data` */
const [NUMBER, ARCHITECTURE, FIRST_ARGUMENT] = [0, 4, 16];
/** Classes and modes of linux/bpf_common.h */
const [LOAD, EQUAL, AT_LEAST, RETURN] = [0x20, 0x15, 0x35, 0x06];
const ALLOW = 0x7fff0000;
/** ENOSYS: programs do without what the kernel does not have. */
const REFUSE = 0x00050000 + 38;

type Instruction = [code: number, value: number, skipIfTrue?: number, skipIfFalse?: number];

/** A program for `bwrap --seccomp`; where the numbers are not known it allows everything. */
export function seccompFilter(architecture: NodeJS.Architecture): Buffer {
  const found = ARCHITECTURES[architecture];
  const rest: Instruction = [RETURN, found === undefined ? ALLOW : REFUSE];
  const program: Instruction[] = [[LOAD, ARCHITECTURE], ...(found ?? []).flatMap(blockOf), rest];
  return Buffer.concat(
    program.map(([code, value, skipIfTrue = 0, skipIfFalse = 0]) => {
      const instruction = Buffer.alloc(8);
      instruction.writeUInt16LE(code, 0);
      instruction.writeUInt8(skipIfTrue, 2);
      instruction.writeUInt8(skipIfFalse, 3);
      instruction.writeUInt32LE(value, 4);
      return instruction;
    }),
  );
}

function blockOf({ id, refused, socket }: Architecture): Instruction[] {
  const numbers = refused.map((number, index): Instruction => [
    EQUAL,
    number,
    refused.length - index + 3,
  ]);
  const block: Instruction[] = [
    [LOAD, NUMBER],
    [AT_LEAST, FIRST_X32, refused.length + 4],
    ...numbers,
    [EQUAL, socket, 0, 2],
    [LOAD, FIRST_ARGUMENT],
    [EQUAL, AF_VSOCK, 1],
    [RETURN, ALLOW],
    [RETURN, REFUSE],
  ];
  return [[EQUAL, id, 0, block.length], ...block];
}
