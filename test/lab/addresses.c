/* The addresses in every named network namespace, by the kernel's own word: `@ NAMESPACE`, then `INTERFACE ADDRESS` for
   each, without loopback and link-local ones. In one process: a story of outages started `ip` 6,600 times. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static void print(const struct ifaddrs *each) {
  char text[INET6_ADDRSTRLEN];
  if (each->ifa_addr == NULL || (each->ifa_flags & IFF_LOOPBACK)) return;
  if (each->ifa_addr->sa_family == AF_INET) {
    inet_ntop(AF_INET, &((struct sockaddr_in *)each->ifa_addr)->sin_addr, text, sizeof text);
  } else if (each->ifa_addr->sa_family == AF_INET6) {
    const struct in6_addr *address = &((struct sockaddr_in6 *)each->ifa_addr)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(address)) return;
    inet_ntop(AF_INET6, address, text, sizeof text);
  } else {
    return;
  }
  printf("%s %s\n", each->ifa_name, text);
}

int main(void) {
  DIR *folder = opendir("/run/netns");
  if (folder == NULL) return 0; /* no sandbox was ever made */
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    int name = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
    if (name < 0) continue; /* gone meanwhile */
    int isInside = setns(name, CLONE_NEWNET) == 0; /* else its mount has gone, and the file is about to */
    close(name);
    struct ifaddrs *all;
    if (!isInside || getifaddrs(&all) != 0) continue;
    printf("@ %s\n", entry->d_name);
    for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) print(each);
    freeifaddrs(all);
  }
  return 0;
}
