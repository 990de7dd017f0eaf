public import SyncProtocol

/// Notifications to an identity's devices about its account, so that its owner learns of other people's actions in
/// time.
enum SwitchNotice {
    static let newDevice = "Another device has signed in with your account. If that was not you, revoke its grant."

    static func begun(to type: AccountType) -> String {
        "A device has begun to move your files to another account (\(type.rawValue)). If that was not you, cancel it."
    }

    static func confirmed(to type: AccountType) -> String {
        "Your account is another one now (\(type.rawValue)). If that was you, sign in with it on this device."
    }

    static func undone(to type: AccountType) -> String {
        "The switch of your account was undone. Sign in with the former one (\(type.rawValue)) on this device."
    }
}

/// The periods that protect an account switch against somebody who has only an access token.
public struct SwitchTimes: Equatable, Sendable {
    /// The minimum age of a device's grant to begin a switch, in seconds, unless the account was proved when it was
    /// issued.
    public var minimumGrantAge: Int64
    /// How long a switch can be undone, in seconds.
    public var undoTime: Int64

    private static let daySeconds: Int64 = 86_400

    public init(minimumGrantAgeDays: Int = 7, undoDays: Int = 14) {
        minimumGrantAge = Int64(minimumGrantAgeDays) * Self.daySeconds
        undoTime = Int64(undoDays) * Self.daySeconds
    }

    /// The earliest confirmation of a switch that can still be undone.
    public func undoStart(at now: WireDate) -> WireDate {
        WireDate(secondsSince1970: now.secondsSince1970 - undoTime)
    }

    /// The time at which a switch becomes final.
    public func undoEnd(after confirmation: WireDate) -> WireDate {
        WireDate(secondsSince1970: confirmation.secondsSince1970 + undoTime)
    }
}
