import Foundation
import SyncAccounts
import SyncProtocol
import Synchronization
import Testing

@Suite("Invitations by link")
struct InvitationLinkTests {
    private let code = SharingInvitationUUID("6b1c1c4e-6f2b-4f4e-9d59-0A1B2C3D4E5F")!

    @Test("A link is built from the app's identifier and the code, and can be parsed")
    func roundTrip() throws {
        let link = try InvitationLink(bundleID: "com.example.App-1")

        let url = link.url(for: code)

        #expect(
            url.absoluteString
                == "com.example.App-1.invitation://?code=6b1c1c4e-6f2b-4f4e-9d59-0A1B2C3D4E5F")
        #expect(link.code(in: url)?.rawValue == code.rawValue)
    }

    @Test(
        "The case of the scheme and additional query items are ignored",
        arguments: [
            "COM.EXAMPLE.APP.INVITATION://?code=CODE", "com.example.app.Invitation://?code=CODE&permission=admin",
            "com.example.app.invitation://?a=b&code=CODE#x", "com.example.app.invitation:///?code=CODE",
        ])
    func lenient(text: String) throws {
        let link = try InvitationLink(bundleID: "com.example.app")
        let url = try #require(URL(string: text.replacing("CODE", with: code.rawValue)))

        #expect(link.code(in: url) == code)
    }

    @Test(
        "Links of other apps, and links without exactly one invitation, are ignored",
        arguments: [
            "com.example.other.invitation://?code=CODE", "https://com.example.app.invitation/?code=CODE",
            "com.example.app://?code=CODE", "com.example.app.invitation://", "com.example.app.invitation://?code=",
            "com.example.app.invitation://?code=no-uuid", "com.example.app.invitation://?Code=CODE",
            "com.example.app.invitation://?code=CODE&code=CODE", "com.example.app.invitation://x#?code=CODE",
        ])
    func others(text: String) throws {
        let link = try InvitationLink(bundleID: "com.example.app")
        let url = try #require(URL(string: text.replacing("CODE", with: code.rawValue)))

        #expect(link.code(in: url) == nil)
    }

    @Test(
        "An invalid scheme is rejected as an app identifier",
        arguments: ["", "1com.example", "com example", "com/x", "ä"])
    func notAScheme(bundleID: String) {
        #expect(throws: SignInError.self) { try InvitationLink(bundleID: bundleID) }
    }

    @Test("An invitation waits until it is requested or observed, and is delivered once")
    func inbox() throws {
        let link = try InvitationLink(bundleID: "com.example.app")
        let inbox = InvitationInbox(link)
        let (first, second) = (SharingInvitationUUID(UUID().uuidString)!, SharingInvitationUUID(UUID().uuidString)!)

        #expect(inbox.receive() == nil)
        #expect(
            inbox.open(URL(string: link.url(for: first).absoluteString.replacing("com.example", with: "COM.Example"))!))
        #expect(!inbox.open(URL(string: "https://example.com/?code=\(second)")!))
        #expect(inbox.receive() == first)
        #expect(inbox.receive() == nil)

        let taken = Mutex<[SharingInvitationUUID]>([])
        #expect(inbox.open(link.url(for: first)))
        inbox.deliver { code in taken.withLock { $0.append(code) } }
        #expect(inbox.open(link.url(for: second)))
        #expect(taken.withLock { $0 } == [first, second] && inbox.receive() == nil)
        inbox.deliver(to: nil)
        #expect(inbox.open(link.url(for: second)) && inbox.receive() == second)
    }
}
