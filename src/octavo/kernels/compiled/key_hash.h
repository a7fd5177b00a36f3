/* Hashes of keys, 16 bytes each: SipHash-1-3 with 128 bits, keyed, and MD5; and other helpers for tables of them. */
#ifndef OCTAVO_KEY_HASH_H
#define OCTAVO_KEY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t key_load_le64(const uint8_t *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24
        | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

#define SIP_ROTATE(v, bits) ((v) << (bits) | (v) >> (64 - (bits)))
#define SIP_ROUND(a, b, c, d) do { \
    a += b; b = SIP_ROTATE(b, 13) ^ a; a = SIP_ROTATE(a, 32); \
    c += d; d = SIP_ROTATE(d, 16) ^ c; \
    a += d; d = SIP_ROTATE(d, 21) ^ a; \
    c += b; b = SIP_ROTATE(b, 17) ^ c; c = SIP_ROTATE(c, 32); \
} while (0)

/* The last word: the 0 to 7 bytes that are left, and the length in the highest byte. */
static inline uint64_t sip_last(const uint8_t *p, size_t n) {
    uint64_t word = (uint64_t)n << 56;
    for (size_t i = 0; i < (n & 7); i++) word |= (uint64_t)p[i] << (8 * i);
    return word;
}

static inline void siphash128(const uint8_t *p, size_t n, uint64_t key0, uint64_t key1, uint64_t *first, uint64_t *second) {
    uint64_t a = key0 ^ 0x736f6d6570736575u, b = key1 ^ 0x646f72616e646f6du ^ 0xee;
    uint64_t c = key0 ^ 0x6c7967656e657261u, d = key1 ^ 0x7465646279746573u, word;
    size_t left = n;
    for (; left >= 8; p += 8, left -= 8) {
        word = key_load_le64(p);
        d ^= word;
        SIP_ROUND(a, b, c, d);
        a ^= word;
    }
    word = sip_last(p, n);
    d ^= word;
    SIP_ROUND(a, b, c, d);
    a ^= word;
    c ^= 0xee;
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    *first = a ^ b ^ c ^ d;
    b ^= 0xdd;
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    *second = a ^ b ^ c ^ d;
}

/* A key, and its hash. */
struct key_ref {
    const uint8_t *bytes;
    size_t length;
    uint64_t hash[2];
};

/* Four keys with the same number of whole words, one lane each: this takes a third of the time (measured, AVX2). */
enum { LANES = 4 };
typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));

static inline __attribute__((always_inline)) void siphash_lanes(struct key_ref *keys, uint64_t key0, uint64_t key1) {
    const lanes zero = {0, 0, 0, 0};
    lanes a = zero + (key0 ^ 0x736f6d6570736575u), b = zero + (key1 ^ 0x646f72616e646f6du ^ 0xee);
    lanes c = zero + (key0 ^ 0x6c7967656e657261u), d = zero + (key1 ^ 0x7465646279746573u), word, first, second;
    size_t whole = keys[0].length & ~(size_t)7;
    for (size_t at = 0; at < whole; at += 8) {
        word = (lanes){key_load_le64(keys[0].bytes + at), key_load_le64(keys[1].bytes + at),
                       key_load_le64(keys[2].bytes + at), key_load_le64(keys[3].bytes + at)};
        d ^= word;
        SIP_ROUND(a, b, c, d);
        a ^= word;
    }
    word = (lanes){sip_last(keys[0].bytes + whole, keys[0].length), sip_last(keys[1].bytes + whole, keys[1].length),
                   sip_last(keys[2].bytes + whole, keys[2].length), sip_last(keys[3].bytes + whole, keys[3].length)};
    d ^= word;
    SIP_ROUND(a, b, c, d);
    a ^= word;
    c ^= 0xee;
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    first = a ^ b ^ c ^ d;
    b ^= 0xdd;
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    second = a ^ b ^ c ^ d;
    for (int lane = 0; lane < LANES; lane++) {
        keys[lane].hash[0] = first[lane];
        keys[lane].hash[1] = second[lane];
    }
}

static void siphash_lanes_portable(struct key_ref *keys, uint64_t key0, uint64_t key1) {
    siphash_lanes(keys, key0, key1);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void siphash_lanes_avx2(struct key_ref *keys, uint64_t key0, uint64_t key1) {
    siphash_lanes(keys, key0, key1);
}
#endif

static void siphash_keys(struct key_ref *keys, size_t count, uint64_t key0, uint64_t key1) {
    void (*together)(struct key_ref *, uint64_t, uint64_t) = siphash_lanes_portable;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) together = siphash_lanes_avx2;
#endif
    size_t i = 0;
    while (i < count) {
        size_t words = keys[i].length >> 3;
        if (count - i >= LANES && keys[i + 1].length >> 3 == words && keys[i + 2].length >> 3 == words
            && keys[i + 3].length >> 3 == words) {
            together(keys + i, key0, key1);
            i += LANES;
        } else {
            siphash128(keys[i].bytes, keys[i].length, key0, key1, &keys[i].hash[0], &keys[i].hash[1]);
            i++;
        }
    }
}

static const uint32_t md5_sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
static const uint8_t md5_shifts[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

static void md5_block(uint32_t state[4], const uint8_t *p) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], words[16];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 | (uint32_t)p[4 * i + 2] << 16 | (uint32_t)p[4 * i + 3] << 24;
    for (int i = 0; i < 64; i++) {
        uint32_t f, shift = md5_shifts[(i >> 4) * 4 + (i & 3)];
        int word;
        switch (i >> 4) {
        case 0: f = (b & c) | (~b & d); word = i; break;
        case 1: f = (d & b) | (~d & c); word = (5 * i + 1) & 15; break;
        case 2: f = b ^ c ^ d; word = (3 * i + 5) & 15; break;
        default: f = c ^ (b | ~d); word = (7 * i) & 15;
        }
        f += a + md5_sines[i] + words[word];
        a = d;
        d = c;
        c = b;
        b += f << shift | f >> (32 - shift);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static inline void md5_of(const uint8_t *p, size_t n, uint8_t digest[16]) {
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t last[128] = {0};
    size_t left = n, end;
    for (; left >= 64; p += 64, left -= 64) md5_block(state, p);
    if (left) memcpy(last, p, left);
    last[left] = 0x80;
    end = left < 56 ? 64 : 128;
    for (int i = 0; i < 8; i++) last[end - 8 + i] = (uint8_t)((uint64_t)n * 8 >> (8 * i));
    md5_block(state, last);
    if (end == 128) md5_block(state, last + 64);
    for (int i = 0; i < 16; i++) digest[i] = (uint8_t)(state[i >> 2] >> (8 * (i & 3)));
}

/* A number below n in proportion to the hash: the high half of the product. */
static inline uint64_t scaled(uint64_t hash, uint64_t n) {
    return (uint64_t)((unsigned __int128)hash * n >> 64);
}

/* The empty asm: gcc 12 assumes that a function that only prefetches has no effect, and drops calls to it. */
static inline void prefetch(const void *p) {
    __builtin_prefetch(p);
    __asm__ volatile("");
}

/* Fetch what is read some records later: the hardware prefetcher stops at each page, and cannot follow lengths. */
static inline void prefetch_ahead(const void *p) {
    prefetch((const uint8_t *)p + 1024);
    prefetch((const uint8_t *)p + 1088);
}

/* How many bits of start..end are set. */
static inline int64_t count_bits(const uint8_t *bits, int64_t start, int64_t end) {
    int64_t count = 0;
    for (; start < end && start & 7; start++) count += bits[start >> 3] >> (start & 7) & 1;
    for (; end - start >= 64; start += 64) {
        uint64_t word;
        memcpy(&word, bits + (start >> 3), 8);
        count += __builtin_popcountll(word);
    }
    for (; start < end; start++) count += bits[start >> 3] >> (start & 7) & 1;
    return count;
}
#endif
