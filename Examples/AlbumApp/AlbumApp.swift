import SwiftUI
import SyncAccounts
import SyncClient
import SyncErrorSentences
import UIKit

/// Replace these values with those of your server, and of your app's registrations.
enum Setup {
    static let server = URL(string: "https://sync.example.com")!
    static let bundleID = "com.example.album"
    static let accounts = AccountScheme.googleApp(
        clientID: "1234567890-abc.apps.googleusercontent.com",
        serverClientID: "1234567890-def.apps.googleusercontent.com",
        serverRedirect: "https://album.example.com/oauth")
}

@main
struct AlbumApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate
    @Environment(\.scenePhase) private var phase

    var body: some Scene {
        WindowGroup {
            RootView(app: delegate.app)
                .onOpenURL { _ = delegate.app.invitations.open($0) }
        }
        // The first attempt fails if the system launched the app before the device was unlocked.
        .onChange(of: phase) { if phase == .active { delegate.app.start() } }
    }
}

/// Opens the store whenever the process starts, including in the background.
final class AppDelegate: NSObject, UIApplicationDelegate {
    let app = AppModel()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        app.start()
        return true
    }

    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        // Without a store there is nothing to wait for; a later sync transfers the files again.
        guard let device = app.device, (try? device.client.resume()) != nil else { return completionHandler() }
        app.eventsHandled = completionHandler
        device.transfers.whenAllReported { Task { @MainActor in self.app.finishEvents() } }
    }
}

/// What concerns the whole app: its store, the sign-in, invitations that opened it.
@MainActor @Observable
final class AppModel {
    private(set) var device: AlbumDevice?
    private(set) var isSignedIn = false
    /// The invitation that the user is asked about.
    var invitation: SyncServer.Invitation?
    var problem: String?
    let invitations: InvitationInbox
    var eventsHandled: (() -> Void)?

    init() {
        guard let link = try? InvitationLink(bundleID: Setup.bundleID) else { fatalError("Setup.bundleID") }
        invitations = InvitationInbox(link)
    }

    func start() {
        guard device == nil else { return }
        do {
            let device = try AlbumDevice()
            // Suspends and resumes with the scenes: a suspended app holds no lock on its store.
            device.client.followAppLifecycle()
            self.device = device
            Task {
                isSignedIn = await device.session.account != nil
                invitations.deliver { code in Task { @MainActor in await self.show(code) } }
            }
        } catch { problem = error.localizedDescription }
    }

    /// Shows the provider's pages. A newcomer becomes a user with a first album, or by redeeming an invitation.
    func signIn(isInvited: Bool = false) async {
        guard let device else { return }
        do {
            let credentials = try await WebSessionSignIn(Setup.accounts, anchor: Self.window).signIn()
            try await device.session.signIn(credentials)
            if case .noUser = try await device.client.checkForExistingUser(), !isInvited {
                try await device.client.addUser(sharingGroupUUID: SharingGroupUUID(), sharingGroupName: "My photos")
            }
            isSignedIn = true
            device.client.resumePendingUploads()
        } catch {
            if (error as? SignInError)?.code != .cancelled { problem = error.localizedDescription }
        }
    }

    private func show(_ code: SharingInvitationUUID) async {
        await perform {
            switch try await device?.client.getSharingInvitationInfo(invitationCode: code) {
            case .invitation(let found): invitation = found
            case .noInvitationFound, nil: problem = "The invitation is used up, or has expired."
            }
        }
    }

    func join(_ invitation: SyncServer.Invitation) async {
        if !isSignedIn { await signIn(isInvited: true) }
        guard isSignedIn, let client = device?.client else { return }
        await perform {
            let album = try await client.redeemSharingInvitation(invitationCode: invitation.code)
            try client.sync(sharingGroupUUID: album)
        }
    }

    /// All transfers of the background session have been reported.
    func finishEvents() {
        if UIApplication.shared.applicationState == .background { device?.client.suspend() }
        eventsHandled?()
        eventsHandled = nil
    }

    private static func window() -> UIWindow {
        let scenes = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }
        return scenes.first { $0.activationState == .foregroundActive }?.keyWindow ?? UIWindow()
    }
}
