/** The fields of a protobuf span that the tests read. */
export interface ProtobufSpan {
  readonly traceId: string;
  readonly name: string;
}

/** The spans of an `ExportTraceServiceRequest` (opentelemetry-proto, trace/v1). Throws for an invalid message. */
export const spansInProtobuf = (request: Buffer): readonly ProtobufSpan[] =>
  // resource_spans, scope_spans, spans; then trace_id and name of a span.
  messagesIn(request, 1)
    .flatMap((resourceSpans) => messagesIn(resourceSpans, 2))
    .flatMap((scopeSpans) => messagesIn(scopeSpans, 2))
    .map((span) => ({
      traceId: messagesIn(span, 1)
        .map((bytes) => bytes.toString('hex'))
        .join(),
      name: messagesIn(span, 5).join(),
    }));

/** The length-delimited fields with this number. */
function messagesIn(message: Buffer, wanted: number): readonly Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  const varint = (): number => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = message.readUInt8(at);
      at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const kind = tag % 8;
    if (kind === 0) varint();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else if (kind === 2) {
      const length = varint();
      if (at + length > message.length) throw new Error('a field that goes on behind its message');
      if (Math.floor(tag / 8) === wanted) found.push(message.subarray(at, at + length));
      at += length;
    } else throw new Error(`a field of the unknown kind ${kind}`);
  }
  return found;
}
