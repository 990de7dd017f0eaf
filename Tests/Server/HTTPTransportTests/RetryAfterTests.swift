import HTTPTransport
import HTTPTypes
import Testing

@Suite("Retry-After")
struct RetryAfterTests {
    private func retryAfter(_ value: String, date: String? = nil) -> Duration? {
        var headers: HTTPFields = [.retryAfter: value]
        headers[.date] = date
        return ReplyHead(status: 503, headers: headers).retryAfter
    }

    @Test("Seconds are used as given, up to a day")
    func seconds() {
        #expect(retryAfter("0") == .zero)
        #expect(retryAfter("120") == .seconds(120))
        #expect(retryAfter("-5") == .zero)
        #expect(retryAfter("99999999") == .seconds(86_400))
    }

    @Test("A date is relative to the reply's own date, not to the local clock")
    func dates() {
        let sent = "Tue, 29 Feb 2028 23:59:30 GMT"

        #expect(retryAfter("Wed, 01 Mar 2028 00:00:10 GMT", date: sent) == .seconds(40))
        #expect(retryAfter("Tue, 29 Feb 2028 23:59:00 GMT", date: sent) == .zero)
        #expect(retryAfter("Thu, 01 Jan 1970 00:00:00 GMT") == .zero)
        #expect(retryAfter("Fri, 31 Dec 2999 23:59:59 GMT") == .seconds(86_400))
    }

    @Test(
        "An unreadable value counts as absent",
        arguments: [
            "", "soon", "1.5", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        ])
    func unreadable(value: String) {
        #expect(retryAfter(value) == nil)
    }

    @Test("Without the header there is no delay")
    func absent() {
        #expect(ReplyHead(status: 503, headers: [:]).retryAfter == nil)
    }
}
