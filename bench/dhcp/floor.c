// What is left of a DHCP server when nothing is decided: every DISCOVER and REQUEST of a relay is sent back with its type
// and an address changed. It is the floor of the benchmark: no server lets perfdhcp make more exchanges than this one.
//
// floor SERVER FIRST_ADDRESS: a client's address is the first one and the last four bytes of its MAC.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { batch = 64, room = 2048, shortest = 300, optionsAt = 240 };
static uint8_t bytes[batch][room];
static struct sockaddr_in peers[batch];
static struct iovec places[batch];
static struct mmsghdr messages[batch];

/* 53 of the message; 0 where there is none. */
static uint8_t type_of(const uint8_t *message, size_t length) {
  for (size_t at = optionsAt; at + 2 < length && message[at] != 255; at += message[at] == 0 ? 1 : 2 + message[at + 1])
    if (message[at] == 53) return message[at + 2];
  return 0;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  struct in_addr server, first;
  if (!inet_aton(words[1], &server) || !inet_aton(words[2], &first)) return 2;
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(67)};
  int buffer = 4 << 20;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  if (bind(fd, (struct sockaddr *)&own, sizeof own) < 0) return 1;
  puts("ready");
  fflush(stdout);
  for (;;) {
    for (int i = 0; i < batch; i++) {
      places[i] = (struct iovec){bytes[i], room};
      messages[i].msg_hdr = (struct msghdr){.msg_name = &peers[i], .msg_namelen = sizeof peers[i], .msg_iov = &places[i], .msg_iovlen = 1};
    }
    int received = recvmmsg(fd, messages, batch, MSG_WAITFORONE, NULL);
    int answers = 0;
    for (int i = 0; i < received; i++) {
      uint8_t *message = bytes[i];
      uint8_t type = type_of(message, messages[i].msg_len);
      if (type != 1 && type != 3) continue;
      uint32_t number;
      memcpy(&number, message + 30, 4);
      uint32_t address = htonl(ntohl(first.s_addr) + ntohl(number));
      message[0] = 2;
      memcpy(message + 16, &address, 4);
      uint8_t options[] = {53, 1, type == 1 ? 2 : 5, 54, 4, 0, 0, 0, 0, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 0, 0};
      memcpy(options + 5, &server, 4);
      memset(message + optionsAt, 0, shortest - optionsAt);
      memcpy(message + optionsAt, options, sizeof options);
      message[optionsAt + sizeof options] = 255;
      peers[i].sin_port = htons(67);
      memcpy(&peers[i].sin_addr, message + 24, 4);
      places[i].iov_len = shortest;
      messages[answers++] = messages[i];
    }
    for (int sent = 0; sent < answers;) {
      int now = sendmmsg(fd, messages + sent, answers - sent, 0);
      sent += now > 0 ? now : 1;
    }
  }
}
