// The buffers that the addon takes and gives (addon/fields.h).
import { endianness } from 'node:os';

const ABSENT = 0xffffffff;
const little = endianness() === 'LE';
const loneSurrogate = /[\ud800-\udfff]/u;

// UTF-8; half of a surrogate pair is three bytes, as if it were a character, so that any two strings differ, and bytes
// have the order of code points.
export function encodeText(text) {
  if (!loneSurrogate.test(text)) return Buffer.from(text);
  const parts = [];
  for (const character of text) {
    const code = character.codePointAt(0);
    parts.push(code >= 0xd800 && code <= 0xdfff
      ? Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)])
      : Buffer.from(character));
  }
  return Buffer.concat(parts);
}

export function decodeText(bytes) {
  const text = bytes.toString();
  if (!text.includes('\ufffd')) return text;
  let out = '', from = 0;
  for (let i = 0; i + 2 < bytes.length; i++)
    if (bytes[i] === 0xed && bytes[i + 1] >= 0xa0 && bytes[i + 1] <= 0xbf) {
      out += bytes.toString('utf8', from, i) + String.fromCharCode(((bytes[i] & 0xf) << 12) | ((bytes[i + 1] & 0x3f) << 6) | (bytes[i + 2] & 0x3f));
      from = i += 3;
      i--;
    }
  return out + bytes.toString('utf8', from);
}

// A number or a boolean is a number, a string or a Uint8Array bytes; undefined and null are absent bytes.
export function fields(...values) {
  let length = 0;
  const parts = values.map((value) => {
    const part = typeof value === 'string' ? encodeText(value) : value;
    if (typeof part === 'number' || typeof part === 'boolean') length += 8;
    else if (part instanceof Uint8Array) length += 5 + part.length;
    else if (part === undefined || part === null) length += 4;
    else throw Object.assign(new TypeError(`neither a text, bytes nor a number: ${String(part)}`), { code: 'CAIRN_EUSAGE' });
    return part;
  });
  const out = Buffer.allocUnsafe(length);
  let at = 0;
  const count = (n) => (little ? out.writeUInt32LE(n, at) : out.writeUInt32BE(n, at));
  for (const part of parts) {
    if (typeof part === 'number' || typeof part === 'boolean') {
      const number = BigInt(Number(part));
      at = little ? out.writeBigInt64LE(number, at) : out.writeBigInt64BE(number, at);
    } else if (part === undefined || part === null) at = count(ABSENT);
    else {
      at = count(part.length);
      out.set(part, at);
      at += part.length;
      out[at++] = 0;
    }
  }
  return out;
}

export class Reader {
  #buffer;
  #at = 0;
  constructor(buffer) {
    this.#buffer = buffer;
  }
  get more() {
    return this.#at < this.#buffer.length;
  }
  number() {
    const at = this.#at;
    this.#at += 8;
    return Number(little ? this.#buffer.readBigInt64LE(at) : this.#buffer.readBigInt64BE(at));
  }
  flag() {
    return this.number() !== 0;
  }
  // A view of the buffer; undefined: absent.
  bytes() {
    const length = little ? this.#buffer.readUInt32LE(this.#at) : this.#buffer.readUInt32BE(this.#at);
    this.#at += 4;
    if (length === ABSENT) return undefined;
    const at = this.#at;
    this.#at += length + 1;
    return this.#buffer.subarray(at, at + length);
  }
  text() {
    const bytes = this.bytes();
    return bytes && decodeText(bytes);
  }
}
