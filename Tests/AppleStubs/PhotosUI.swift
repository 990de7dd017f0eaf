public import AppleFoundation
public import SwiftUI

public protocol Transferable {}
extension Data: Transferable {}

public struct PHPickerFilter: Sendable {
    public static let images = PHPickerFilter()
}

public struct PhotosPickerItem: Sendable, Hashable {
    public func loadTransferable<T: Transferable>(type: T.Type) async throws -> T? { nil }
}

public struct PhotosPicker: LeafView {
    public init<S: StringProtocol>(
        _ title: S, selection: Binding<PhotosPickerItem?>, matching filter: PHPickerFilter? = nil
    ) {}
}
