import { z } from 'zod';

const endpoint = z.string().refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
  error: 'a URL starting with http:// or https://, e.g. http://127.0.0.1:4318',
});
const protocol = z.enum(['http/protobuf', 'http/json'], {
  error: 'http/protobuf or http/json (port 4318 of a collector; Docket does not speak gRPC)',
});
const timeout = z.coerce.number({ error: 'milliseconds' }).min(1, { error: 'milliseconds' });

/** Of OpenTelemetry's standard variables those that Docket looks at itself; its packages read the others. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TIMEOUT: timeout.optional(),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeout.optional(),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'otlp or none' }).optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
};
