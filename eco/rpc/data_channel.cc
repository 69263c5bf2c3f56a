#include "data_channel.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace eco {
namespace {

constexpr int handshake_ms = 2000;
constexpr std::size_t tls_buffer_bytes = 128 << 10;
constexpr unsigned char cipher_id[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256

// A frame's lengths have 4 bytes, and protobuf takes lengths as int.
static_assert(DataChannel::message_bytes_max <= INT_MAX && DataChannel::payload_bytes_max <= UINT32_MAX);

void put(std::string& text, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(value >> shift & 0xff);
}
std::size_t get(const char* text) {
  std::size_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(text[i]);
  return value;
}

// The session for the pre-shared key. It belongs to the connection; OpenSSL takes ownership.
SSL_SESSION* session_of(SSL* ssl) {
  const auto& key = *static_cast<const std::string*>(SSL_get_app_data(ssl));
  SSL_SESSION* session = SSL_SESSION_new();
  const bool made =
      session != nullptr &&
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()), key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, cipher_id)) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (made) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int use_key(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* id_bytes, SSL_SESSION** session) {
  static const unsigned char name[] = {'e', 'c', 'o'};  // one key per connection, so any identity serves
  *id = name, *id_bytes = sizeof name, *session = session_of(ssl);
  return *session != nullptr;
}
int find_key(SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
  *session = session_of(ssl);
  return *session != nullptr;
}

// Buffers several records per write to the kernel; flushes at the end of a frame.
bool connect_to(SSL* ssl, int fd) {
  if (SSL_set_fd(ssl, fd) != 1) return false;
  BIO* buffer = BIO_new(BIO_f_buffer());
  if (buffer == nullptr || BIO_set_write_buffer_size(buffer, tls_buffer_bytes) != 1) return BIO_free(buffer), false;
  BIO* socket = SSL_get_wbio(ssl);
  BIO_up_ref(socket);
  SSL_set0_wbio(ssl, BIO_push(buffer, socket));
  return true;
}

bool is_ready(int fd, int want, int timeout_ms) {
  pollfd wait{.fd = fd, .events = static_cast<short>(want == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN), .revents = 0};
  int n = 0;
  while ((n = ::poll(&wait, 1, timeout_ms)) < 0 && errno == EINTR) continue;
  return n == 1;
}

bool agree(SSL* ssl, int fd, DataChannel::Side side) {
  while (true) {
    const int n = side == DataChannel::Side::primary ? SSL_connect(ssl) : SSL_accept(ssl);
    if (n == 1) return true;
    const int want = SSL_get_error(ssl, n);
    if ((want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE) || !is_ready(fd, want, handshake_ms))
      return false;
  }
}

}  // namespace

std::unique_ptr<DataChannel> DataChannel::over(Fd fd, Side side, const std::string& key, std::string& why) {
  if (key.empty()) return std::unique_ptr<DataChannel>(new DataChannel(std::move(fd), nullptr, nullptr));
  if (key.size() != key_bytes) {
    why = "the key of the data connection has another size";
    return nullptr;
  }
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  SSL* ssl = nullptr;
  bool made = context != nullptr && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 &&
              SSL_CTX_set_num_tickets(context, 0) == 1;
  if (made) {
    SSL_CTX_set_psk_use_session_callback(context, use_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    // Key only: neither side accepts a certificate instead.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    if (side == Side::worker) SSL_CTX_set_session_id_context(context, cipher_id, sizeof cipher_id);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, tls_buffer_bytes);
    ssl = SSL_new(context);
  }
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  std::string own_key = key;
  made = ssl != nullptr && connect_to(ssl, fd.get()) && SSL_set_app_data(ssl, &own_key) == 1 &&
         agree(ssl, fd.get(), side) && SSL_session_reused(ssl) == 1;
  ERR_clear_error();
  if (ssl != nullptr) SSL_set_app_data(ssl, nullptr);
  std::unique_ptr<DataChannel> channel(new DataChannel(std::move(fd), context, ssl));
  if (made) return channel;
  why = "the peer of the data connection does not have its key";
  return nullptr;
}

DataChannel::~DataChannel() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

void DataChannel::finish() {
  const std::lock_guard lock(sending_);
  if (ssl_ != nullptr && tls([this] { return SSL_shutdown(ssl_) < 0 ? -1 : 1; }) > 0) (void)flush();
  ::shutdown(fd_.get(), SHUT_WR);
}

void DataChannel::shut() { ::shutdown(fd_.get(), SHUT_RDWR); }

int DataChannel::tls(const std::function<int()>& call) {
  while (true) {
    int n = 0, want = 0;
    {
      const std::lock_guard lock(tls_);
      n = call();
      if (n > 0) return n;
      want = SSL_get_error(ssl_, n);
      ERR_clear_error();
    }
    if (want == SSL_ERROR_ZERO_RETURN) return 0;
    if ((want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE) || !is_ready(fd_.get(), want, -1)) return -1;
  }
}

bool DataChannel::write(const char* data, std::size_t bytes, bool more) {
  if (ssl_ == nullptr) {
    while (bytes > 0) {
      const ssize_t n = ::send(fd_.get(), data, bytes, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      data += n, bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }
  while (bytes > 0) {
    const int part = static_cast<int>(std::min(bytes, tls_buffer_bytes));
    const int n = tls([&] { return SSL_write(ssl_, data, part); });
    if (n <= 0) return false;
    data += n, bytes -= static_cast<std::size_t>(n);
  }
  return more || flush();
}

// Checks the buffering BIO itself: SSL_get_error refers to the last SSL call, which may be another thread's read.
bool DataChannel::flush() {
  while (true) {
    {
      const std::lock_guard lock(tls_);
      BIO* buffer = SSL_get_wbio(ssl_);
      if (BIO_flush(buffer) > 0) return true;
      ERR_clear_error();
      if (!BIO_should_write(buffer)) return false;
    }
    if (!is_ready(fd_.get(), SSL_ERROR_WANT_WRITE, -1)) return false;
  }
}

long DataChannel::read_some(char* data, std::size_t bytes) {
  if (ssl_ != nullptr) {
    const int part = static_cast<int>(std::min(bytes, tls_buffer_bytes));
    return tls([&] { return SSL_read(ssl_, data, part); });
  }
  ssize_t n = 0;
  while ((n = ::recv(fd_.get(), data, bytes, MSG_WAITALL)) < 0 && errno == EINTR) continue;
  return n;
}

bool DataChannel::read(char* data, std::size_t bytes) {
  while (bytes > 0) {
    const long n = read_some(data, bytes);
    if (n <= 0) return false;
    data += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool DataChannel::send_head(const google::protobuf::MessageLite& message, std::size_t payload_bytes) {
  const std::size_t bytes = message.ByteSizeLong();
  if (bytes > message_bytes_max || payload_bytes > payload_bytes_max) return false;
  head_.clear();
  put(head_, bytes), put(head_, payload_bytes);
  return message.AppendToString(&head_) && write(head_.data(), head_.size(), payload_bytes > 0);
}

bool DataChannel::send(const google::protobuf::MessageLite& message, std::string_view payload) {
  const std::lock_guard lock(sending_);
  return send_head(message, payload.size()) && write(payload.data(), payload.size(), false);
}

bool DataChannel::send_file(const google::protobuf::MessageLite& message, int file, std::uint64_t offset,
                            std::size_t bytes) {
  const std::lock_guard lock(sending_);
  if (!send_head(message, bytes)) return false;
  auto at = static_cast<off_t>(offset);
  while (ssl_ == nullptr && bytes > 0) {
    const ssize_t n = ::sendfile(fd_.get(), file, &at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes -= static_cast<std::size_t>(n);
  }
  part_.resize(std::min(bytes, tls_buffer_bytes));
  while (bytes > 0) {
    const ssize_t n = ::pread(file, part_.data(), std::min(bytes, part_.size()), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || !write(part_.data(), static_cast<std::size_t>(n), static_cast<std::size_t>(n) < bytes)) return false;
    at += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool DataChannel::receive(google::protobuf::MessageLite& message, std::size_t& payload_bytes) {
  char head[8];
  const long first = read_some(head, sizeof head);
  ended_ = first == 0;
  if (first <= 0) return false;
  if (!read(head + first, sizeof head - static_cast<std::size_t>(first))) return false;
  const std::size_t bytes = get(head);
  payload_bytes = get(head + 4);
  if (bytes > message_bytes_max || payload_bytes > payload_bytes_max) return false;
  in_.resize(bytes);
  return read(in_.data(), bytes) && message.ParseFromArray(in_.data(), static_cast<int>(bytes));
}

bool DataChannel::receive_payload(char* data, std::size_t bytes) { return read(data, bytes); }

}  // namespace eco
