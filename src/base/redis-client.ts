import type { Cluster, Redis } from 'ioredis';

/** A client that stores speak through: one server, whatever a Sentinel group calls its master, or a Cluster. */
export type RedisClient = Redis | Cluster;
