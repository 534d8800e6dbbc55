/* An OpenAI-compatible server that knows when it sent what: the truth that benchmarks/run.py holds clients against.

   cc -O2 -o stamped_server stamped_server.c
   stamped_server FIRST_US GAP_US DELTAS LOG [BURST]

   Listens on 127.0.0.1 and prints the port. Each reply has DELTAS events (fewer where max_tokens says so), each with one
   word, every second one out of thousands, so that no reply is a collapse; sent and stamped one by one: the first FIRST_US after the request arrived, the others every GAP_US, or as fast
   as they are taken (flood) with a GAP_US of 0. With BURST so many go out in one send, under stamps of their own: one by one,
   a server sends about as many a second as a client reads. A request arrives when the kernel has its last byte: of a hundred that
   come at once, the last is read milliseconds later. The first word is `q<number>`, so that a client's record finds its
   truth. When standard input ends, LOG is written, per reply: number, arrival, count, then the stamps
   (int64, CLOCK_MONOTONIC, ns). Single-threaded: the whole load is one core. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096
#define SPIN_NS 60000
#define OUT 16384

struct reply { int64_t number, arrival, count; int64_t *stamps; struct reply *next; };
struct client {
  int fd, streaming, total, held, offset;
  size_t size, room, wanted, head;
  char *in, out[OUT];
  int64_t due;
  struct reply *reply;
};

static struct client *clients[MOST];
static int active[MOST], actives, poller;
static struct reply *first_reply, *last_reply;
static int64_t replies, first_ns, gap_ns;
static int deltas, burst = 1;

static const char *const WORDS[] = {
  "the", "function", "reads", "a", "file", "and", "returns", "its", "lines", "where", "one", "is", "empty", "we", "skip",
  "it", "because", "tests", "expect", "so", "next", "step", "checks", "that", "index", "stays", "in", "range", "before",
  "loop", "ends", "value", "was", "cached", "earlier", "then", "call", "writes", "result", "back", "with", "new", "name",
  "error", "handled", "above", "only", "if", "path", "exists", "otherwise", "raise", "message", "says", "what", "to", "do"
};

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static const char *const SYLLABLES[] = {
  "ba", "con", "der", "el", "fi", "gra", "in", "ka", "lo", "men", "no", "per", "qui", "re", "sta", "ti", "ul", "ver", "wa", "zy"
};

static uint64_t mixed(uint64_t x) {
  x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

/* The nth word of a reply. */
static void write_word(char *word, size_t room, int64_t reply, int64_t n) {
  uint64_t drawn = mixed(reply * 100003 + n);
  if (drawn & 1) { snprintf(word, room, "%s", WORDS[(drawn >> 1) % (sizeof WORDS / sizeof *WORDS)]); return; }
  const char *const *s = SYLLABLES;
  snprintf(word, room, "%s%s%s", s[(drawn >> 8) % 20], s[(drawn >> 24) % 20], drawn & 2 ? s[(drawn >> 40) % 20] : "");
}

static void watch(struct client *c, int writing) {
  struct epoll_event event = { .events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.fd = c->fd };
  epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

/* One event of the stream as an HTTP chunk behind what is held. */
static void put(struct client *c, const char *delta, const char *finish, const char *usage) {
  char body[1024];
  int size = snprintf(body, sizeof body,
    "data: {\"id\":\"cmpl-%016llx\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\","
    "\"choices\":[%s%s%s%s%s]%s}\n\n", (unsigned long long)c->reply->number,
    delta ? "{\"index\":0,\"delta\":{" : "", delta ? delta : "", delta ? "},\"logprobs\":null,\"finish_reason\":" : "",
    delta ? finish : "", delta ? ",\"token_ids\":null}" : "", usage);
  c->held += snprintf(c->out + c->held, OUT - c->held, "%x\r\n%s\r\n", size, body);
}

/* 1: all was taken, 0: the socket is full, -1: the client is gone. */
static int flush(struct client *c) {
  while (c->offset < c->held) {
    ssize_t sent = send(c->fd, c->out + c->offset, c->held - c->offset, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN ? 0 : -1;
    c->offset += sent;
  }
  c->held = c->offset = 0;
  return 1;
}

static void stop(int place) {
  clients[active[place]]->streaming = 0;
  active[place] = active[--actives];
}

static void drop(struct client *c) {
  for (int place = 0; place < actives; place++)
    if (active[place] == c->fd) { stop(place); break; }
  clients[c->fd] = NULL;
  close(c->fd);
  free(c->in);
  free(c);
}

/* The next delta, the last one with the end of the reply, behind what is held. */
static void next(struct client *c, struct reply *r) {
  char text[96], usage[160], word[48];
  write_word(word, sizeof word, r->number, r->count);
  if (r->count) snprintf(text, sizeof text, "\"content\":\" %s\"", word);
  else snprintf(text, sizeof text, "\"content\":\"q%lld \"", (long long)r->number);
  put(c, text, "null", "");
  if (r->count + 1 == c->total) {
    put(c, "", "\"stop\"", "");
    snprintf(usage, sizeof usage, ",\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":%d,\"total_tokens\":%d}",
             c->total, c->total + 100);
    put(c, NULL, NULL, usage);
    c->held += snprintf(c->out + c->held, OUT - c->held, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
  }
  r->stamps[r->count++] = now();
}

/* The next deltas go out. */
static void step(int place) {
  struct client *c = clients[active[place]];
  struct reply *r = c->reply;
  if (c->held) {
    int done = flush(c);
    if (done < 0) { drop(c); return; }
    if (!done) { c->due = INT64_MAX; watch(c, 1); return; }
  }
  if (r->count == c->total) { stop(place); return; }
  for (int n = 0; n < burst && r->count < c->total; n++) next(c, r);
  int done = flush(c);
  if (done < 0) { drop(c); return; }
  if (!done) { c->due = INT64_MAX; watch(c, 1); }
  else if (r->count == c->total) stop(place);
  else c->due = gap_ns ? c->due + gap_ns : r->stamps[r->count - 1];
}

static void answer(struct client *c, const char *status, const char *body) {
  char text[1024];
  int size = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                      status, strlen(body), body);
  if (send(c->fd, text, size, MSG_NOSIGNAL) < 0) return;
}

static void begin(struct client *c, int64_t arrival) {
  char *body = c->in + c->head;
  size_t size = c->wanted - c->head;
  if (!strncmp(c->in, "GET", 3)) {
    int known = strstr(c->in, "/models") && strstr(c->in, "/models") < strchr(c->in, '\n');
    answer(c, known ? "200 OK" : "404 Not Found",
           known ? "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"max_model_len\":1000000}]}" : "{}");
    return;
  }
  char *path = strstr(c->in, "/completions");
  if (!path || path > strchr(c->in, '\n')) { answer(c, "404 Not Found", "{}"); return; }
  if (!memmem(body, size, "\"stream\":true", 13) && !memmem(body, size, "\"stream\": true", 14)) {
    answer(c, "200 OK", "{\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
           "\"assistant\",\"content\":\"ok\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":100,"
           "\"completion_tokens\":1,\"total_tokens\":101}}");
    return;
  }
  c->total = deltas;
  for (int which = 0; which < 2; which++) {
    const char *name = which ? "\"max_completion_tokens\":" : "\"max_tokens\":";
    char *limit = memmem(body, size, name, strlen(name));
    if (limit && atoi(limit + strlen(name)) > 0 && atoi(limit + strlen(name)) < c->total)
      c->total = atoi(limit + strlen(name));
  }
  struct reply *r = calloc(1, sizeof *r);
  r->number = replies++;
  r->arrival = arrival;
  r->stamps = malloc(c->total * sizeof *r->stamps);
  if (last_reply) last_reply->next = r; else first_reply = r;
  last_reply = c->reply = r;
  c->held = snprintf(c->out, OUT,
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  c->offset = 0;
  put(c, "\"role\":\"assistant\",\"content\":\"\"", "null", "");
  if (flush(c) < 0) return;
  c->due = arrival + first_ns;
  c->streaming = 1;
  active[actives++] = c->fd;
}

/* Into the buffer as recv does; `arrival` becomes when the kernel had the last of it, or now where it does not say. */
static ssize_t take(struct client *c, int64_t *arrival) {
  union { char room[CMSG_SPACE(sizeof(struct timespec))]; struct cmsghdr aligned; } control;
  struct iovec space = { c->in + c->size, c->room - c->size };
  struct msghdr message = { .msg_iov = &space, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
  ssize_t got = recvmsg(c->fd, &message, MSG_DONTWAIT);
  *arrival = now();
  struct cmsghdr *stamp = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!stamp || stamp->cmsg_type != SCM_TIMESTAMPNS) return got;
  struct timespec wall, came;
  clock_gettime(CLOCK_REALTIME, &wall);
  memcpy(&came, CMSG_DATA(stamp), sizeof came);
  *arrival -= (wall.tv_sec - came.tv_sec) * 1000000000LL + wall.tv_nsec - came.tv_nsec;
  return got;
}

/* Everything that has come; returns 0 where the client is gone. */
static int receive(struct client *c) {
  for (;;) {
    if (c->room - c->size < 65536) c->in = realloc(c->in, (c->room = c->room * 2 + 131072) + 1);
    int64_t arrival;
    ssize_t got = take(c, &arrival);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return 0;
    if (got < 0) return 1;
    c->size += got;
    c->in[c->size] = 0;
    char *end;
    if (!c->wanted && (end = memmem(c->in, c->size, "\r\n\r\n", 4))) {
      *end = 0;
      char *length = strcasestr(c->in, "\ncontent-length:");
      c->head = end - c->in + 4;
      c->wanted = c->head + (length ? strtoul(length + 16, NULL, 10) : 0);
      *end = '\r';
    }
    if (c->wanted && c->size >= c->wanted) {
      begin(c, arrival);
      memmove(c->in, c->in + c->wanted, c->size - c->wanted);
      c->size -= c->wanted;
      c->wanted = 0;
    }
  }
}

static void welcome(int listener) {
  int fd, one = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    if (fd >= MOST) { close(fd); continue; }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    clients[fd] = calloc(1, sizeof **clients);
    clients[fd]->fd = fd;
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
  }
}

static void save(const char *path) {
  FILE *file = fopen(path, "wb");
  for (struct reply *r = first_reply; r; r = r->next) {
    fwrite(r, sizeof(int64_t), 3, file);
    fwrite(r->stamps, sizeof(int64_t), r->count, file);
  }
  fclose(file);
}

int main(int count, char **given) {
  if (count < 5 || count > 6) return 2;
  first_ns = atoll(given[1]) * 1000;
  gap_ns = atoll(given[2]) * 1000;
  deltas = atoi(given[3]);
  if (count == 6) burst = atoi(given[5]);
  struct rlimit limit = { MOST, MOST };
  setrlimit(RLIMIT_NOFILE, &limit);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  setsockopt(listener, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, MOST)) return 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  poller = epoll_create1(0);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  int fixed[] = { listener, 0, timer };
  for (int n = 0; n < 3; n++) {
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fixed[n] };
    epoll_ctl(poller, EPOLL_CTL_ADD, fixed[n], &event);
  }
  for (;;) {
    int64_t due = INT64_MAX, at = now();
    for (int place = 0; place < actives; place++)
      if (clients[active[place]]->due < due) due = clients[active[place]]->due;
    int wait = due > at + SPIN_NS;
    struct itimerspec spec = { 0 };
    if (wait && due != INT64_MAX) {
      spec.it_value.tv_sec = (due - SPIN_NS) / 1000000000;
      spec.it_value.tv_nsec = (due - SPIN_NS) % 1000000000;
    }
    if (wait) timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL);
    struct epoll_event events[256];
    int ready = epoll_wait(poller, events, 256, wait ? -1 : 0);
    for (int n = 0; n < ready; n++) {
      int fd = events[n].data.fd;
      char rest[64];
      if (fd == 0) { if (read(0, rest, sizeof rest) <= 0) { save(given[4]); return 0; } continue; }
      if (fd == listener) { welcome(listener); continue; }
      if (fd == timer) { if (read(timer, rest, 8) < 0) continue; continue; }
      struct client *c = clients[fd];
      if (!c) continue;
      if (events[n].events & EPOLLOUT) { watch(c, 0); c->due = now(); }
      if (events[n].events & ~EPOLLOUT && !receive(c)) drop(c);
    }
    at = now();
    for (int place = actives - 1; place >= 0; place--)
      if (clients[active[place]]->due <= at) step(place);
  }
}
