public import SyncProtocol

/// What the devices of an identity are told of its account: whoever has not done it learns of it in time.
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

/// For how long a switch of accounts is guarded against somebody who has no more than an access token.
public struct SwitchTimes: Equatable, Sendable {
    /// How old a device's grant must be to begin a switch, in seconds, if the account was not proved when it was issued.
    public var minimumGrantAge: Int64
    /// For how long a switch can be undone, in seconds.
    public var undoTime: Int64

    private static let daySeconds: Int64 = 86_400

    public init(minimumGrantAgeDays: Int = 7, undoDays: Int = 14) {
        minimumGrantAge = Int64(minimumGrantAgeDays) * Self.daySeconds
        undoTime = Int64(undoDays) * Self.daySeconds
    }

    /// A switch that was confirmed before can no longer be undone.
    public func undoStart(at now: WireDate) -> WireDate {
        WireDate(secondsSince1970: now.secondsSince1970 - undoTime)
    }

    /// When a switch becomes final.
    public func undoEnd(after confirmation: WireDate) -> WireDate {
        WireDate(secondsSince1970: confirmation.secondsSince1970 + undoTime)
    }
}
